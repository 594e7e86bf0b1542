#pragma once
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/kernel/spmv/spmv_plan.hpp"
#include "penstock/schedule/device_op.hpp"
#include "penstock/solver/multigrid/cycle.hpp"
#include "penstock/solver/multigrid/dense_solve.hpp"
#include "penstock/solver/multigrid/prolongate.hpp"
#include "penstock/solver/multigrid/smoothing.hpp"

namespace penstock {

/// A level with more than this part of the rows of the one before it is not worth its work.
inline constexpr double kLeastCoarsening = 0.8;
/// The last level is factored up to so many rows where it cannot be made coarser.
inline constexpr std::int64_t kMostDense = 1500;
inline constexpr int kLastSteps = 8;  // of the smoother where the last level is not factored

struct AmgOptions {
  /// Otherwise R comes of A^T (solver/multigrid/nonsymmetric.hpp), the smoother is l1-Jacobi and the cycle V or W.
  bool symmetric = true;
  double strength = 0.08;  // of a connection, against the strongest of its rows; 0: every entry is strong
  bool l1_jacobi = false;  // instead of Chebyshev
  int degree = 2;          // steps of the smoother before and after the coarse level
  AmgCycle cycle = AmgCycle::v;
  int max_levels = 20;
  std::int64_t max_coarse = 300;  // rows that are solved by a dense factorisation
  std::uint64_t seed = 0;
  std::int64_t block = 1;  // rows of a vertex on the finest level
  /// Among many ranks: a level with fewer rows than this for each rank is shared by fewer ranks.
  std::int64_t rows_of_rank = 500;
};

/// Whether a level with `coarse` rows is too small a step from one with `rows`, so that the one before is the last.
inline bool too_little_coarser(std::int64_t coarse, std::int64_t rows) {
  return coarse == 0 || static_cast<double>(coarse) > kLeastCoarsening * static_cast<double>(rows);
}
/// Pivots of the last level below this part of their diagonal entries are rounding.
template <class T>
inline constexpr double kZeroPivot = sizeof(T) == 4 ? 1e-5 : 1e-12;
/// Step lengths of the damped Jacobi method that smooths prolongators, times the largest eigenvalue.
inline constexpr double kOmega = 4.0 / 3;

/// The power of two that brings the largest diagonal entry near 1, for a matrix in float32: products of entries stay in range.
inline double narrowing_scale(double largest) {
  return largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, -std::ilogb(largest)) : 1;
}

template <class T>
struct AmgLevel {
  Csr<T> a, p, r;  // no p and r on the last level; r = p^T where A is symmetric
  std::shared_ptr<SpmvPlans<T>> plans;
  Smoothing<T> smoothing;
  double largest = 0;     // a bound of the eigenvalues of D^-1 A
  Aggregates aggregates;  // none where the level is the last one by its rows or its number
};

/// What a cycle reads of a level: bytes of its matrices, and steps of its smoother.
struct LevelBytes {
  std::int64_t a = 0, p = 0, r = 0, steps = 0;
};
/// Least bytes of matrices that a cycle reads; `dense` of them on the last level, unless that is smoothed (-1).
std::int64_t bytes_of_cycle(const std::vector<LevelBytes>& levels, std::int64_t dense, AmgCycle cycle);

template <class T>
struct Hierarchy {
  std::vector<AmgLevel<T>> levels;
  std::optional<DenseSolve> coarsest;  // none where the last level is too large: it is smoothed
  AmgCycle cycle = AmgCycle::v;
  /// Whose memory the levels are in. On a device the last level's inverse stands for `coarsest`, and there are no plans.
  std::optional<Where> device = {};
  Array<const T> inverse = {};
  /// Products with the finest matrix, where it is not in the device's memory and travels there each time.
  DeviceOp<T> finest = {};
  bool streamed() const { return static_cast<bool>(finest.apply); }
  bool factored() const { return coarsest || inverse.size > 0; }
  /// Least bytes of matrices that a cycle reads, and bytes that are kept.
  std::int64_t cycle_bytes() const;
  std::int64_t bytes() const;
  /// Bytes of the device's memory that the levels take, with a cycle's vectors; a finest matrix that travels takes none.
  std::int64_t device_bytes() const;
};
/// Vectors of a cycle on a device: r, d and A d of the smoother; b, the correction and a second one of a level that another one asks.
inline constexpr int kOwnVectors = 3, kAskedVectors = 3;

/// Throws Error{invalid_argument} unless A is square and its rows are blocks.
void require_blocks(std::int64_t rows, std::int64_t cols, std::int64_t block);

/// Smoothed aggregation (Vanek, Mandel and Brezina 1996). Columns of A ascend, without duplicates. `near_nullspace` is row-major, of shape
/// (rows, vectors). Throws Error{invalid_argument} where A is not symmetric positive semidefinite, as far as that is seen. With `before`,
/// a hierarchy of a matrix with the same pattern and of the same options, its aggregates are taken over.
template <class T>
std::shared_ptr<const Hierarchy<T>> build_hierarchy(const Csr<T>& a, std::vector<double> near_nullspace,
                                                    std::int64_t vectors, const AmgOptions& options,
                                                    const Hierarchy<T>* before = nullptr);

/// M = one cycle. With vectors of another type than T, which are scaled by a power of two; `scale` M is applied. `complex`: the levels
/// are of the parts of complex vectors (solver/complex_form.hpp), and products are those of the complex matrices, which have half the numbers.
template <class U, class T>
LinearOp<U> multigrid(std::shared_ptr<const Hierarchy<T>> hierarchy, double scale, bool complex = false);

}  // namespace penstock
