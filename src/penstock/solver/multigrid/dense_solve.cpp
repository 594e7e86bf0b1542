#include "penstock/solver/multigrid/dense_solve.hpp"

#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/dot.hpp"

namespace penstock {

template <class T>
DenseSolve::DenseSolve(const Csr<T>& a, double tolerance, bool symmetric)
    : n_(a.rows), l_(at(n_ * n_)), inverse_(at(n_)) {
  for (std::int64_t i = 0; i < n_; ++i)
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      l_[at(i * n_ + a.indices.data[k])] += static_cast<double>(a.values.data[k]);
  if (symmetric) factor_symmetric(tolerance);
  else factor(tolerance);
}

void DenseSolve::factor(double tolerance) {
  rows_.resize(at(n_));
  std::iota(rows_.begin(), rows_.end(), Index{0});
  double largest = 0;
  for (const auto v : l_) largest = std::max(largest, std::abs(v));
  require(std::isfinite(largest),
          "AMG: the coarsest level holds NaN or infinity, or numbers too large for the "
          "precision");
  for (std::int64_t k = 0; k < n_; ++k) {
    poll_interrupt();
    auto pivot = k;
    for (auto i = k + 1; i < n_; ++i)
      if (std::abs(l_[at(i * n_ + k)]) > std::abs(l_[at(pivot * n_ + k)])) pivot = i;
    double* row = l_.data() + k * n_;
    if (pivot != k) {
      std::swap_ranges(row, row + n_, l_.data() + pivot * n_);
      std::swap(rows_[at(k)], rows_[at(pivot)]);
    }
    if (std::abs(row[k]) <= tolerance * largest) {
      for (auto i = k + 1; i < n_; ++i) l_[at(i * n_ + k)] = 0;
      continue;
    }
    inverse_[at(k)] = 1 / row[k];
    for (auto i = k + 1; i < n_; ++i) {
      double* below = l_.data() + i * n_;
      const double factor = below[k] *= inverse_[at(k)];
      if (factor == 0) continue;
      for (auto j = k + 1; j < n_; ++j) below[j] -= factor * row[j];
    }
  }
}

void DenseSolve::factor_symmetric(double tolerance) {
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
  if (!rows_.empty()) {
    for (std::int64_t i = 0; i < n_; ++i)
      y[at(i)] = static_cast<double>(b[rows_[at(i)]]) - dot(l_.data() + i * n_, y.data(), i);
    for (auto i = n_ - 1; i >= 0; --i) {
      const double* row = l_.data() + i * n_;
      y[at(i)] = inverse_[at(i)] * (y[at(i)] - dot(row + i + 1, y.data() + i + 1, n_ - i - 1));
      z[i] = static_cast<T>(y[at(i)]);
    }
    return;
  }
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

template <class T>
std::vector<T> DenseSolve::inverse() const {
  std::vector<double> columns(at(n_ * n_));
  parallel_for(n_, [&](std::int64_t j) {
    poll_interrupt();
    std::vector<double> unit(at(n_));
    unit[at(j)] = 1;
    apply(unit.data(), columns.data() + j * n_);
  });
  std::vector<T> out(at(n_ * n_));
  for (std::int64_t i = 0; i < n_; ++i)
    for (std::int64_t j = 0; j < n_; ++j) {
      const double here = columns[at(j * n_ + i)];
      out[at(i * n_ + j)] = static_cast<T>(rows_.empty() ? (here + columns[at(i * n_ + j)]) / 2 : here);
    }
  return out;
}

template DenseSolve::DenseSolve(const Csr<float>&, double, bool);
template DenseSolve::DenseSolve(const Csr<double>&, double, bool);
template void DenseSolve::apply(const float*, float*) const;
template void DenseSolve::apply(const double*, double*) const;
template std::vector<float> DenseSolve::inverse() const;
template std::vector<double> DenseSolve::inverse() const;

}  // namespace penstock
