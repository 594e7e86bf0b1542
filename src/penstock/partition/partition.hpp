#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "penstock/format/csr.hpp"

// Who holds which rows, columns and entries of a matrix that is shared out among parts (ranks, processes, GPUs).
namespace penstock {

enum class PartitionKind { contiguous, balanced, grid, bins, label_propagation, labels };
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

/// Equal numbers of rows, in order.
Partition contiguous(const Csr<One>& a, std::int64_t parts);
/// Rows in order, cut where the number of entries before the cut is nearest to an equal share.
Partition balanced(const Csr<One>& a, std::int64_t parts);
/// The naive distribution of Page and Kogge (2018), after their [5]: the most square process grid, equal ranges of rows
/// and of columns. Partial sums of a row meet at the row master, part (i, 0), who owns it; process (0, j) is the column
/// master through whom column j's processes are served.
Partition grid(const Csr<One>& a, std::int64_t parts);
/// The balanced distribution of Page and Kogge (2018): rows longer than omega = ceil(nnz / parts) are split there, then
/// the longest goes to the part with the fewest entries, and so on. A split row is owned by the holder of its first
/// piece. Rows without entries go where fewest rows are. (The paper prints omega as nnz / m, which would split half the
/// rows of any matrix; its text, "the optimal amount of nnz per process", says nnz / P.)
Partition bins(const Csr<One>& a, std::int64_t parts);
/// Puts neighbours into one part, with entries equal within a few per cent. It begins with the better of two cuts: of the
/// rows in order, or by bisection of breadth-first levels. Then it moves rows to the part that has most of their neighbours,
/// as long as neither part leaves its bounds. The result is the same for any number of threads. For square matrices.
Partition label_propagation(const Csr<One>& a, std::int64_t parts);
/// The user's partition: part owners[r] in [0, parts) holds row r; parts == 0 stands for the largest owner + 1.
Partition labels(const Csr<One>& a, const Array<const Index>& owners, std::int64_t parts);

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
