#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/format/csr.hpp"

// Who holds which rows, columns and entries of a matrix that is shared out among parts (ranks, processes, GPUs).
namespace penstock {

// The one list of partitioners: a name, what it reads of the matrix (Reads, below), and a few words for help texts. A new
// one is a line here and the function of that name, in a file of its own, partition/NAME.cpp.
#define PENSTOCK_PARTITIONERS(X)                                  \
  X(contiguous, shape, "equal numbers of rows")                   \
  X(balanced, offsets, "rows in order, equal numbers of entries") \
  X(grid, shape, "process grid, sums to the row's owner")         \
  X(bins, lengths, "rows packed by length, split where too long") \
  X(label_propagation, graph, "neighbours together")

/// What made a partition: a function of the list, or owners that the user gave.
enum class PartitionKind {
#define PENSTOCK_KIND(NAME, READS, TEXT) NAME,
  PENSTOCK_PARTITIONERS(PENSTOCK_KIND)
#undef PENSTOCK_KIND
      labels
};
std::string_view name(PartitionKind kind);

/// Entries [first, last) of the matrix's arrays: a piece of a row that is shared by several parts.
struct RowPiece {
  std::int64_t row = 0;
  Offset first = 0, last = 0;
  Index part = 0;
};

/// Parts stand in a grid of grid_rows x grid_cols, part (i, j) has the number i * grid_cols + j. Row-wise partitions
/// have grid_cols == 1: a part holds the whole rows that it owns, except where `pieces` says otherwise. With more
/// columns, part (i, j) holds the entries of rows [row_cuts[i], row_cuts[i+1]) and columns [col_cuts[j], col_cuts[j+1]).
struct Partition {
  PartitionKind kind = PartitionKind::contiguous;
  std::int64_t parts = 1, grid_rows = 1, grid_cols = 1;
  std::int64_t rows = 0, cols = 0, nnz = 0;  // of the matrix that was cut
  Array<const Index> row_owners;             // for each row: the part that ends up with y[row]
  Array<const Index> col_owners;  // for each column: the part that has x[col]; shared if the matrix is square
  std::vector<std::int64_t> row_cuts;  // grid_rows + 1 where each grid row has a range of rows, else empty
  std::vector<std::int64_t> col_cuts;  // grid_cols + 1 where grid_cols > 1, else empty
  std::vector<RowPiece> pieces;        // rows that several parts share, by row and first; else empty
};

namespace partition {

inline constexpr std::int64_t kMostParts = 1 << 20;

// Each function of the list cuts `a` into `parts`. Its file says how. The result is the same for any number of threads.
#define PENSTOCK_DECLARED(NAME, READS, TEXT) Partition NAME(const Csr<One>& a, std::int64_t parts);
PENSTOCK_PARTITIONERS(PENSTOCK_DECLARED)
#undef PENSTOCK_DECLARED
/// The user's partition: part owners[r] in [0, parts) holds row r; parts == 0 stands for the largest owner + 1.
Partition labels(const Csr<One>& a, const Array<const Index>& owners, std::int64_t parts);

/// What a partitioner reads, which says how ranks make one of a matrix that none of them has as a whole. `shape`: no more
/// than that, so every rank computes it alone. `offsets`, a few, and `lengths`, of all rows: by its twin over ranks in
/// dist/share/balance.hpp. `graph`: the neighbours of all rows of a square matrix, so one rank must have it.
enum class Reads { shape, offsets, lengths, graph };
std::string_view name(Reads reads);

struct Partitioner {
  std::string_view name;
  Reads reads;
  std::string_view text;
  Partition (*make)(const Csr<One>& a, std::int64_t parts);
};
std::span<const Partitioner> partitioners();
/// By name; throws Error{invalid_argument} that lists them.
const Partitioner& partitioner(std::string_view name);

/// The part of each entry, in the order of the arrays. Throws where p was made of another matrix.
Array<const Index> entry_parts(const Csr<One>& a, const Partition& p);

// Helpers of the partitioners above.

/// Where share i of `total` begins: the first total % parts shares have one more. i == parts: total.
inline std::int64_t share(std::int64_t total, std::int64_t parts, std::int64_t i) {
  const auto more = total % parts;
  return total / parts * i + (i < more ? i : more);
}
/// An empty Partition with the matrix's shape; throws where `parts` is out of range.
Partition begin(const Csr<One>& a, std::int64_t parts, PartitionKind kind);
/// Row owners from row_cuts (grid row i is owned by part i * grid_cols), then column owners.
void own_ranges(Partition& p);
/// Column owners: the row owners if the matrix is square, or else equal ranges (in a grid, of the column masters).
void own_columns(Partition& p);
/// The parts + 1 cuts of [0, rows] at equal shares of offsets[r] - offsets[0]. The offsets ascend.
std::vector<std::int64_t> cut_by_entries(const Offset* offsets, std::int64_t rows, std::int64_t parts);
/// Throws where p was made of a matrix of another shape or number of entries.
void require_same(const Csr<One>& a, const Partition& p);

}  // namespace partition
}  // namespace penstock
