#pragma once
#include <memory>

#include "penstock/comm/comm.hpp"
#include "penstock/dist/share/comm_plan.hpp"
#include "penstock/dist/share/ownership.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// What a rank holds before it is renumbered: some entries of some rows, with the numbers of the whole matrix.
template <class V>
struct Share {
  /// Numbers of the rows of `entries`, none of them twice. Empty: they are first_row, first_row + 1, ...
  Array<const GlobalIndex> row_ids;
  GlobalIndex first_row = 0;
  Csr<V> entries;  // cols: of the whole matrix
  /// Nobody else reads the entries, or a file has them: distribute() gives their memory back as it reads.
  bool consumed = false;

  GlobalIndex row_id(std::int64_t r) const { return row_ids.size ? row_ids.data[r] : first_row + r; }
};

/// A matrix shared out among ranks: two ordinary matrices and two plans. Row-wise layouts hold whole rows of what they
/// own; others (a grid, split rows) also hold parts of rows that someone else owns, whose sums travel to the owner.
/// Rows: the owned ones, then the foreign ones by owner. Columns of `local`: the owned entries of x; of `halo`: ghosts.
template <class V>
struct DistCsr {
  std::shared_ptr<Comm> comm;
  std::shared_ptr<const Ownership> row_owners, col_owners;  // of y and of x
  Csr<V> local, halo;                                       // rows() + foreign rows each
  std::shared_ptr<const CommPlan> plan;                     // x: owners to ghosts
  std::shared_ptr<const CommPlan> sums;  // y: used backwards, sums of foreign rows go to their owners

  std::int64_t rows() const { return row_owners->count(comm->rank()); }  // of y, here
  std::int64_t cols() const { return col_owners->count(comm->rank()); }  // of x, here
  GlobalIndex all_rows() const { return row_owners->size(); }
  GlobalIndex all_cols() const { return col_owners->size(); }
  std::int64_t nnz() const { return local.nnz() + halo.nnz(); }  // here
};

/// Renumbers a share, and finds out which rank needs which entries of x. Every entry of the matrix is in exactly one share; a row that the
/// share does not name has no entries here. The order of a row's entries is kept. Besides its result and the share, whose
/// arrays it lets go of as soon as it can, it needs 4 bytes a row and a ghost and a bit and a half to three a column of the
/// whole matrix, then 12 a ghost. Collective.
template <class V>
DistCsr<V> distribute(std::shared_ptr<Comm> comm, std::shared_ptr<const Ownership> rows,
                      std::shared_ptr<const Ownership> cols, Share<V> share);

}  // namespace penstock
