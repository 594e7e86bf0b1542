#pragma once
#include <memory>
#include <vector>

#include "penstock/dist/product/dist_product.hpp"
#include "penstock/solver/multigrid/hierarchy.hpp"

namespace penstock {

/// A level that ranks share out. Coarse ones have fewer ranks with rows, the last one a single rank.
template <class T>
struct DistAmgLevel {
  std::shared_ptr<DistProduct<T>> a, p, r;  // no p and r on the last level
  Smoothing<T> smoothing;
  double largest = 0;     // a bound of the eigenvalues of D^-1 A
  Aggregates aggregates;  // of the vertices here
  std::int64_t nnz = 0;   // of all ranks
  int ranks = 0;          // with rows
};

template <class T>
struct DistHierarchy {
  std::vector<DistAmgLevel<T>> levels;
  bool factored = false;                       // the last level
  std::shared_ptr<const DenseSolve> coarsest;  // on rank 0
  AmgCycle cycle = AmgCycle::v;
  std::uint64_t pattern = 0;  // a hash of the pattern of A's rows here
  /// Least bytes of matrices that a cycle reads on this rank, and bytes that are kept here.
  std::int64_t cycle_bytes() const;
  std::int64_t bytes() const;
};

/// build_hierarchy of `scale` times a matrix that ranks share out; near_nullspace has this rank's rows. Aggregates cross ranks, so
/// that where ranks have ranges of rows, levels are those of one rank, to rounding. The same bits for the same number of
/// ranks. Rows are whole, and those of a vertex on one rank. Errors are raised on all ranks. Collective.
template <class T, class V>
std::shared_ptr<const DistHierarchy<T>> build_dist_hierarchy(std::shared_ptr<DistProduct<V>> a, double scale,
                                                             std::vector<double> near_nullspace,
                                                             std::int64_t vectors, const AmgOptions& options,
                                                             const DistHierarchy<T>* before = nullptr);

/// M = one cycle, as for one process. Its functions are collective.
template <class U, class T>
LinearOp<U> multigrid(std::shared_ptr<const DistHierarchy<T>> hierarchy, double scale);

}  // namespace penstock
