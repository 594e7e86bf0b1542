#include "penstock/solver/multigrid/dense_solve.hpp"

#include <cmath>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/dot.hpp"

namespace penstock {

template <class T>
DenseSolve::DenseSolve(const Csr<T>& a, double tolerance) : n_(a.rows), l_(at(n_ * n_)), inverse_(at(n_)) {
  for (std::int64_t i = 0; i < n_; ++i)
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      l_[at(i * n_ + a.indices.data[k])] += static_cast<double>(a.values.data[k]);
  std::vector<double> scaled(at(n_));  // L(i, :) D
  for (std::int64_t i = 0; i < n_; ++i) {
    poll_interrupt();
    double* row = l_.data() + i * n_;
    const double diagonal = row[i];
    for (std::int64_t j = 0; j < i; ++j) {
      scaled[at(j)] = row[j] - dot(scaled.data(), l_.data() + j * n_, j);
      if (inverse_[at(j)] == 0) scaled[at(j)] = 0;
    }
    for (std::int64_t j = 0; j < i; ++j) row[j] = scaled[at(j)] * inverse_[at(j)];
    const double pivot = diagonal - dot(scaled.data(), row, i);
    const double least = tolerance * std::abs(diagonal);
    if (!(pivot >= -least) || !std::isfinite(pivot))
      throw Error(Errc::invalid_argument, "AMG: a pivot of the coarsest level is " + std::to_string(pivot) +
                                              ": A is not positive definite (take M='ilu0' with gmres), or "
                                              "precision='float32' is not enough");
    inverse_[at(i)] = pivot > least ? 1 / pivot : 0;
  }
}

template <class T>
void DenseSolve::apply(const T* b, T* z) const {
  std::vector<double> y(at(n_));
  for (std::int64_t i = 0; i < n_; ++i)
    y[at(i)] = static_cast<double>(b[i]) - dot(l_.data() + i * n_, y.data(), i);
  for (std::int64_t i = 0; i < n_; ++i) y[at(i)] *= inverse_[at(i)];
  for (auto i = n_ - 1; i >= 0; --i) {
    const double* row = l_.data() + i * n_;
    const double value = y[at(i)];
    for (std::int64_t j = 0; j < i; ++j) y[at(j)] -= value * row[j];
  }
  for (std::int64_t i = 0; i < n_; ++i) z[i] = static_cast<T>(y[at(i)]);
}

template DenseSolve::DenseSolve(const Csr<float>&, double);
template DenseSolve::DenseSolve(const Csr<double>&, double);
template void DenseSolve::apply(const float*, float*) const;
template void DenseSolve::apply(const double*, double*) const;

}  // namespace penstock
