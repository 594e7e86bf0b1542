#pragma once
#include <functional>
#include <memory>

#include "penstock/dist/share/ownership.hpp"
#include "penstock/solver/multigrid/dense_solve.hpp"
#include "penstock/solver/multigrid/rank_rows.hpp"

// The last level, which rank 0 solves alone.
namespace penstock {

/// The factors of the matrix whose rows here are `entries`, with the columns of the whole; null but on rank 0. Throws, on all
/// ranks, as DenseSolve. Collective.
template <class T>
std::shared_ptr<const DenseSolve> factored_on_first(Comm& comm, const Ownership& owners,
                                                    const Csr<T>& entries, const RankRows& rows,
                                                    bool symmetric);

/// z = M b, of the rows that each rank owns. Nothing travels where rank 0 owns all of them.
template <class T>
std::function<void(const T* b, T* z)> solve_on_first(std::shared_ptr<Comm> comm, const Ownership& owners,
                                                     std::shared_ptr<const DenseSolve> factors);

}  // namespace penstock
