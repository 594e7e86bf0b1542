#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "penstock/kernel/spmv/spmv_plan.hpp"
#include "penstock/solver/multigrid/dense_solve.hpp"
#include "penstock/solver/multigrid/prolongate.hpp"
#include "penstock/solver/multigrid/smoothing.hpp"

namespace penstock {

/// W: coarse levels are visited twice. K: by at most two steps of flexible conjugate gradients (Notay and Vassilevski 2008), so
/// that M is no linear map.
enum class AmgCycle { v, w, k };

struct AmgOptions {
  double strength = 0.08;  // of a connection, against the strongest of its rows; 0: every entry is strong
  bool l1_jacobi = false;  // instead of Chebyshev
  int degree = 2;          // steps of the smoother before and after the coarse level
  AmgCycle cycle = AmgCycle::v;
  int max_levels = 20;
  std::int64_t max_coarse = 300;  // rows that are solved by a dense factorisation
  std::uint64_t seed = 0;
  std::int64_t block = 1;  // rows of a vertex on the finest level
};

template <class T>
struct AmgLevel {
  Csr<T> a, p, r;  // no p and r on the last level; r = p^T
  std::shared_ptr<SpmvPlans<T>> plans;
  Smoothing<T> smoothing;
  double largest = 0;     // a bound of the eigenvalues of D^-1 A
  Aggregates aggregates;  // none where the level is the last one by its rows or its number
};

template <class T>
struct Hierarchy {
  std::vector<AmgLevel<T>> levels;
  std::optional<DenseSolve> coarsest;  // none where the last level is too large: it is smoothed
  AmgCycle cycle = AmgCycle::v;
  /// How often a cycle comes to a level, at most.
  std::int64_t visits(std::size_t level) const;
  /// Least bytes of matrices that a cycle reads, and bytes that are kept.
  std::int64_t cycle_bytes() const;
  std::int64_t bytes() const;
};

/// Smoothed aggregation (Vanek, Mandel and Brezina 1996). Columns of A ascend, without duplicates. `near_nullspace` is row-major, of shape
/// (rows, vectors). Throws Error{invalid_argument} where A is not symmetric positive semidefinite, as far as that is seen. With `before`,
/// a hierarchy of a matrix with the same pattern and of the same options, its aggregates are taken over.
template <class T>
std::shared_ptr<const Hierarchy<T>> build_hierarchy(const Csr<T>& a, std::vector<double> near_nullspace,
                                                    std::int64_t vectors, const AmgOptions& options,
                                                    const Hierarchy<T>* before = nullptr);

/// M = one cycle. With vectors of another type than T, which are scaled by a power of two; `scale` M is applied.
template <class U, class T>
LinearOp<U> multigrid(std::shared_ptr<const Hierarchy<T>> hierarchy, double scale);

}  // namespace penstock
