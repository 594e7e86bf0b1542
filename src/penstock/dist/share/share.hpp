#pragma once
#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/partition/partition.hpp"

// The ways from a matrix that lies somewhere to each rank's share of it.
namespace penstock {

/// Rows [first_row, first_row + entries.rows) of a matrix, in order; its first entry is entry first_entry of the matrix.
template <class V>
struct RowRange {
  Csr<V> entries;  // its offsets begin at 0
  GlobalIndex first_row = 0;
  Offset first_entry = 0;
};

template <class V>
RowRange<V> rows_of(const Csr<V>& whole, std::int64_t first, std::int64_t last);

/// Gives back the memory of entries [first, last) that were read from a file, where they can be read again.
template <class V>
void forget_mapped(const Csr<V>& a, Offset first, Offset last);
/// The same of the row offsets.
template <class V>
void forget_offsets(const Csr<V>& a);

/// The entries of these rows that `part` has. Shares the arrays where they are a range of whole rows, copies otherwise. Of a
/// mapped file only the part's rows are read.
template <class V>
Share<V> share_of(const RowRange<V>& rows, const Partition& p, Index part);

/// The entries of a share that `part` has. The share has all rows of the part, with all their entries. The memory of a
/// consumed share is given back while it is read.
template <class V>
Share<V> cut_share(const Share<V>& rows, const Partition& p, Index part);

/// Each rank reads some rows (all ranks together read every row once), and they send each row to the rank that it belongs to.
/// This is done in rounds of at most `round_bytes` a rank (0: a 32nd of what it reads, 1 to 64 MB), so that no rank holds a
/// second copy of what it reads, nor keeps what it has read from a file. Collective.
template <class V>
Share<V> spread(Comm& comm, const RowRange<V>& rows, const Partition& p, std::int64_t round_bytes = 0);

enum class Scatter { direct, masters };

/// The root, which has the whole matrix (the others give null), sends each rank its share: directly, or through the masters
/// of the columns of the most square process grid, as Page and Kogge (2018, Fig. 3a-b) do. Only the root's `p` is used. The
/// root needs memory for a second copy of its matrix; a master needs memory for what its column of ranks gets. Collective.
template <class V>
Share<V> scatter_from(Comm& comm, const Csr<V>* whole, const Partition* p, int root, Scatter scatter);

/// The root's partition on every rank; the other ranks give null. Collective.
Partition broadcast(Comm& comm, const Partition* p, int root);

/// The owners of the entries of y and of x; with `rows_at_root` rank 0 owns all of y. Throws where there are not as many parts
/// as ranks.
struct Owners {
  std::shared_ptr<const Ownership> rows, cols;
};
Owners owners_of(const Partition& p, int ranks, bool rows_at_root = false);

}  // namespace penstock
