#pragma once
#include <memory>

#include "penstock/solver/multigrid/dist_rows.hpp"
#include "penstock/solver/multigrid/nonsymmetric.hpp"
#include "penstock/solver/multigrid/prolongate.hpp"

// From one level to the next, over ranks.
namespace penstock {

/// The rows here of the tentative prolongator, with the columns of the whole matrix, and the coarse vectors of the aggregates that
/// this rank owns. The members of an aggregate travel to its owner, who factors them. `b` has a row for each row here. Collective.
template <class T>
Tentative<T> dist_tentative(Comm& comm, const Aggregates& aggregates, const Ownership& owners,
                            std::int64_t block, const std::vector<double>& b, std::int64_t vectors);

/// The rows of a matrix that the ghosts of a plan stand for, of which every rank has those that it owns. Collective.
template <class T>
Csr<T> ghost_rows(Comm& comm, const CommPlan& plan, const Csr<T>& own);

/// P^T, whose rows the owners of P's columns own. Its sums travel to them. Collective.
template <class T>
std::shared_ptr<DistProduct<T>> restriction(DistProduct<T>& p);

/// The rows of Q^T A P that are owned here, with the columns of the whole matrix; Q is P where A is symmetric. `p_rows` are P's rows here,
/// and `wide` A's.
/// Contributions travel to the owners, who add up those of one rank after the other. Collective.
template <class T>
Csr<T> dist_galerkin(const DistProduct<T>& a, const Csr<T>& wide, const DistProduct<T>& q,
                     const Csr<T>& p_rows);

/// The rows of A^T that are owned here, with the columns of the whole matrix. `wide` are A's rows here. Collective.
template <class T>
Csr<T> dist_transposed(const DistProduct<T>& a, const Csr<T>& wide);

/// What locally_smoothed asks of other ranks, for the rows of A and coarse columns with these owners, who have ranges.
template <class T>
RowsElsewhere<T> rows_elsewhere(std::shared_ptr<DistProduct<T>> a, std::shared_ptr<const Ownership> columns);

}  // namespace penstock
