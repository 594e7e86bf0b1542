#pragma once
#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/partition/partition.hpp"

// From a matrix somewhere to each rank's share of it.
namespace penstock {

/// Rows [first_row, first_row + entries.rows) of a matrix, in order; its first entry is number first_entry of them all.
template <class V>
struct RowRange {
  Csr<V> entries;  // offsets from 0
  GlobalIndex first_row = 0;
  Offset first_entry = 0;
};

template <class V>
RowRange<V> rows_of(const Csr<V>& whole, std::int64_t first, std::int64_t last);

/// Gives back the memory of entries [first, last) that were read from a file, which has them still.
template <class V>
void forget_mapped(const Csr<V>& a, Offset first, Offset last);
/// The same of the row offsets.
template <class V>
void forget_offsets(const Csr<V>& a);

/// What `part` has of these rows. Shares the arrays where that is a range of whole rows, copies otherwise. Reads a mapped
/// file where the part's rows are, and nowhere else.
template <class V>
Share<V> share_of(const RowRange<V>& rows, const Partition& p, Index part);

/// What `part` has of the entries of a share that names at least its rows, whole; a consumed share's memory goes as it is
/// read.
template <class V>
Share<V> cut_share(const Share<V>& rows, const Partition& p, Index part);

/// Each rank reads some rows (all together every row once) and gets its share: row by row to whom it belongs, in rounds
/// of at most `round_bytes` a rank (0: a 32nd of what it reads, 1 to 64 MB), so that nobody holds a second copy of what it
/// reads, nor keeps what it has read from a file. Collective.
template <class V>
Share<V> spread(Comm& comm, const RowRange<V>& rows, const Partition& p, std::int64_t round_bytes = 0);

enum class Scatter { direct, masters };

/// The root, which has the whole matrix (others give null), sends everyone their share: directly, or through the masters
/// of the columns of the most square process grid, as Page and Kogge (2018, Fig. 3a-b) do. `p` is looked at on the root
/// alone. The root needs its matrix a second time (through masters, each of them what its column of ranks gets).
/// Collective.
template <class V>
Share<V> scatter_from(Comm& comm, const Csr<V>* whole, const Partition* p, int root, Scatter how);

/// The root's partition on every rank; others give null. Collective.
Partition broadcast(Comm& comm, const Partition* p, int root);

/// Who has which entries of y and of x; rank 0 has all of y where `rows_at_root`. Throws where there are more parts than ranks or fewer.
struct Owners {
  std::shared_ptr<const Ownership> rows, cols;
};
Owners owners_of(const Partition& p, int ranks, bool rows_at_root = false);

}  // namespace penstock
