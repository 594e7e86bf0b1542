#pragma once
#include <limits>
#include <vector>

#include "penstock/format/csr.hpp"
#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/multigrid/rank_rows.hpp"

namespace penstock {

/// Steps d = keep d + add W r, z += d, r -= A d, beginning with d = 0. W is the diagonal matrix `weights`.
template <class T>
struct Smoothing {
  struct Step {
    T keep = 0, add = 1;
  };
  Array<const T> weights;
  std::vector<Step> steps;
};

inline constexpr int kLanczosSteps = 8;        // for the bound of the spectrum
inline constexpr double kLanczosMargin = 1.1;  // Lanczos comes from below
/// Lanczos' method ends where the next vector falls below this part of the first diagonal entry.
inline constexpr double kLanczosEnd = 1e-6;

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection with Sturm's sequence.
double largest_of_tridiagonal(const std::vector<double>& main, const std::vector<double>& off);

/// 1 / a_ii, and 0 where a_ii is zero.
template <class T>
Array<const T> inverse_diagonal(const Csr<T>& a);

/// 1 / sum_j |a_ij|, and 0 where the row is zero (Baker, Falgout, Kolev and Yang 2011).
template <class T>
Array<const T> inverse_row_sums(const Csr<T>& a);

/// Throws Error{invalid_argument} that names the row, unless it is kNoRow: its sum is no finite number.
inline constexpr std::int64_t kNoRow = std::numeric_limits<std::int64_t>::max();
void require_finite_rows(std::int64_t row);

/// The largest absolute row sum of D^-1 A, the same on all ranks. Throws Error{invalid_argument} where A holds NaN or
/// infinity. Collective.
template <class T>
double largest_row_sum(const Csr<T>& a, const Array<const T>& inverse, const RankRows& rows = {});

/// An upper bound of the largest eigenvalue of D^-1 A, close to it: by a few steps of Lanczos' method, or largest_row_sum
/// where that is smaller. `a`: the rows of this rank. Throws as largest_row_sum. The same on all ranks. Collective.
template <class T>
double largest_eigenvalue(const LinearOp<T>& product, const Csr<T>& a, const Array<const T>& inverse,
                          const RankRows& rows = {});

/// Chebyshev's iteration for eigenvalues from `largest` / 8 to `largest`.
template <class T>
Smoothing<T> chebyshev_smoothing(Array<const T> inverse, double largest, int degree);

/// Jacobi's method with the sums of absolute values of the rows: it converges for every positive definite A.
template <class T>
Smoothing<T> l1_jacobi_smoothing(const Csr<T>& a, int sweeps);
/// The same with inverse_row_sums(a).
template <class T>
Smoothing<T> l1_jacobi_smoothing(Array<const T> inverse_sums, int sweeps);

}  // namespace penstock
