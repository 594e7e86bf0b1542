#pragma once
#include <memory>

#include "penstock/dist/product/dist_product.hpp"
#include "penstock/solver/multigrid/rank_rows.hpp"

// A matrix that ranks share out, in the two forms in which its rows here are worked on: with the columns of the whole matrix,
// or with the columns owned here and behind them the ghosts.
namespace penstock {

/// The rows here times `scale`, with the columns of the whole matrix, which ascend; entries of one column are added up. Rows are
/// whole. Collective.
template <class T, class V>
Csr<T> whole_columns(DistProduct<V>& a, double scale);

/// The product of a matrix of which this rank has `entries`, with the columns of the whole matrix. `row_ids` are the numbers of
/// its rows, which others may own. Collective.
template <class T>
std::shared_ptr<DistProduct<T>> share_out(std::shared_ptr<Comm> comm, std::shared_ptr<const Ownership> rows,
                                          std::shared_ptr<const Ownership> cols,
                                          Array<const GlobalIndex> row_ids, const Csr<T>& entries);

/// The rows that are owned here, with the columns owned here and then the ghosts.
template <class T>
Csr<T> wide_rows(const DistProduct<T>& a);

/// The columns of such rows. It keeps the matrix alive.
template <class T>
RankRows columns_of(std::shared_ptr<DistProduct<T>> a);

/// Rows one after the other, of as many columns.
template <class T>
Csr<T> stacked(const Csr<T>& first, const Csr<T>& second);

}  // namespace penstock
