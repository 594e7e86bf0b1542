// The smoothers of multigrid and the bound of the spectrum that they need.
#include "penstock/solver/multigrid/smoothing.hpp"

#include <cmath>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"
#include "penstock/solver/multigrid/shared_steps.hpp"
#include "penstock/solver/vectors.hpp"

namespace penstock {
namespace {

constexpr double kSmoothedPart = 8;  // largest / smallest eigenvalue that the smoother damps

template <class T, class F>
Array<const T> of_rows(const Csr<T>& a, F&& f) {
  const auto made = allocate<T>(std::max<std::int64_t>(a.rows, 1));
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) made.data[i] = static_cast<T>(f(i));
  });
  return made.slice(0, a.rows);
}

}  // namespace

double largest_of_tridiagonal(const std::vector<double>& main, const std::vector<double>& off) {
  double high = 0;
  for (std::size_t i = 0; i < main.size(); ++i)
    high = std::max(high, std::abs(main[i]) + (i > 0 ? off[i - 1] : 0) + (i + 1 < main.size() ? off[i] : 0));
  double low = 0;
  for (int step = 0; step < 60; ++step) {
    const double x = (low + high) / 2;
    bool above = false;  // an eigenvalue above x
    double q = 1;
    for (std::size_t i = 0; i < main.size() && !above; ++i) {
      q = main[i] - x - (i > 0 ? off[i - 1] * off[i - 1] / q : 0);
      if (q == 0) q = -1e-300;
      above = q > 0;
    }
    (above ? low : high) = x;
  }
  return high;
}

void require_finite_rows(std::int64_t row) {
  require(row == kNoRow, [&] {
    return "AMG: row " + std::to_string(row) +
           " holds NaN or infinity, or numbers too large for the precision";
  });
}

template <class T>
Array<const T> inverse_diagonal(const Csr<T>& a) {
  return of_rows(a, [&](std::int64_t i) {
    double d = 0;
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      if (a.indices.data[k] == i) d += static_cast<double>(a.values.data[k]);
    return d == 0 ? 0 : 1 / d;
  });
}

template <class T>
Array<const T> inverse_row_sums(const Csr<T>& a) {
  return of_rows(a, [&](std::int64_t i) {
    double s = 0;
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      s += std::abs(static_cast<double>(a.values.data[k]));
    return s == 0 ? 0 : 1 / s;
  });
}

template <class T>
double largest_row_sum(const Csr<T>& a, const Array<const T>& inverse, const RankRows& rows) {
  const auto ratios = of_rows(a, [&](std::int64_t i) {
    double s = 0;
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      s += std::abs(static_cast<double>(a.values.data[k]));
    return s * static_cast<double>(inverse.data[i]);
  });
  double bound = 0;
  rows.together([&] {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      if (!std::isfinite(ratios.data[i])) require_finite_rows(rows.number(i));
      bound = std::max(bound, static_cast<double>(ratios.data[i]));
    }
  });
  return rows.largest(bound);
}

template <class T>
double largest_eigenvalue(const LinearOp<T>& product, const Csr<T>& a, const Array<const T>& inverse,
                          const RankRows& rows) {
  const auto n = a.rows;
  const double bound = largest_row_sum(a, inverse, rows);
  // Lanczos' method for D^-1/2 A D^-1/2 from a fixed start.
  const Workspace<T> work(n, 4);
  T* v = work[0].data();
  T* before = work[1].data();
  const auto scaled = work[2], q = work[3];
  Sweeper sweep(sizeof(T));
  const auto root = [&](std::int64_t i) { return std::sqrt(std::max(inverse.data[i], T(0))); };
  double sum = 0;
  sweep(n, 2, std::span<double>(&sum, 1), [&](std::int64_t f, std::int64_t count, double* s) {
    for (auto i = f; i < f + count; ++i) {
      before[i] = 0;
      v[i] = inverse.data[i] == 0 ? T(0) : static_cast<T>(start_entry(rows.number(i)));
    }
    s[0] += dot(v + f, v + f, count);
  });
  rows.sum(std::span<double>(&sum, 1));
  std::vector<double> main, off;
  double beta = std::sqrt(sum);
  if (!(beta > 0)) return bound;
  auto scale = static_cast<T>(1 / beta);
  beta = 0;
  for (int step = 0; step < kLanczosSteps && step < (rows.comm ? rows.all : n); ++step) {
    sweep(n, 3, [&](std::int64_t f, std::int64_t count) {
      for (auto i = f; i < f + count; ++i) v[i] *= scale, scaled[at(i)] = root(i) * v[i];
    });
    product.apply(scaled, q);
    double alpha = 0;
    sweep(n, 5, std::span<double>(&alpha, 1), [&](std::int64_t f, std::int64_t count, double* s) {
      for (auto i = f; i < f + count; ++i) q[at(i)] = root(i) * q[at(i)] - static_cast<T>(beta) * before[i];
      s[0] += dot(q.data() + f, v + f, count);
    });
    rows.sum(std::span<double>(&alpha, 1));
    double norm = 0;
    sweep(n, 3, std::span<double>(&norm, 1), [&](std::int64_t f, std::int64_t count, double* s) {
      for (auto i = f; i < f + count; ++i) before[i] = q[at(i)] - static_cast<T>(alpha) * v[i];
      s[0] += dot(before + f, before + f, count);
    });
    rows.sum(std::span<double>(&norm, 1));
    main.push_back(alpha);
    beta = std::sqrt(norm);
    if (!(beta > kLanczosEnd * std::abs(main.front()))) break;
    off.push_back(beta);
    std::swap(v, before);
    scale = static_cast<T>(1 / beta);
  }
  off.resize(main.size() - 1);
  const double found = kLanczosMargin * largest_of_tridiagonal(main, off);
  return found > 0 ? std::min(bound, found) : bound;
}

template <class T>
Smoothing<T> chebyshev_smoothing(Array<const T> inverse, double largest, int degree) {
  Smoothing<T> made{std::move(inverse), {}};
  const double high = largest > 0 ? largest : 1, low = high / kSmoothedPart;
  const double middle = (high + low) / 2, radius = (high - low) / 2, sigma = middle / radius;
  double rho = 1 / sigma;
  made.steps.push_back({T(0), static_cast<T>(1 / middle)});
  for (int step = 1; step < degree; ++step) {
    const double next = 1 / (2 * sigma - rho);
    made.steps.push_back({static_cast<T>(next * rho), static_cast<T>(2 * next / radius)});
    rho = next;
  }
  return made;
}

template <class T>
Smoothing<T> l1_jacobi_smoothing(const Csr<T>& a, int sweeps) {
  return l1_jacobi_smoothing(inverse_row_sums(a), sweeps);
}

template <class T>
Smoothing<T> l1_jacobi_smoothing(Array<const T> inverse_sums, int sweeps) {
  Smoothing<T> made{std::move(inverse_sums), {}};
  for (int step = 0; step < sweeps; ++step) made.steps.push_back({T(0), T(1)});
  return made;
}

#define X(T)                                                                                   \
  template Array<const T> inverse_diagonal(const Csr<T>&);                                     \
  template Array<const T> inverse_row_sums(const Csr<T>&);                                     \
  template double largest_row_sum(const Csr<T>&, const Array<const T>&, const RankRows&);      \
  template double largest_eigenvalue(const LinearOp<T>&, const Csr<T>&, const Array<const T>&, \
                                     const RankRows&);                                         \
  template Smoothing<T> chebyshev_smoothing(Array<const T>, double, int);                      \
  template Smoothing<T> l1_jacobi_smoothing(const Csr<T>&, int);                               \
  template Smoothing<T> l1_jacobi_smoothing(Array<const T>, int);
X(float)
X(double)
#undef X

}  // namespace penstock
