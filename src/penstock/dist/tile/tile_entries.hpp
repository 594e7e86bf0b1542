#pragma once
#include <span>
#include <vector>

#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/format/csr.hpp"

// Where the entries of a matrix are, counted before it is cut into tiles: each rank counts those that it has, and all add up.
namespace penstock {

/// The entries of a matrix that this rank has, in parts, with the numbers that their rows and columns have in the whole matrix.
/// Every entry is on one rank.
template <class V>
struct TileEntries {
  std::int64_t rows = 0, cols = 0;  // of the whole matrix
  std::vector<CsrView<V>> parts;
  std::vector<std::vector<GlobalIndex>> row_ids, col_ids;
};

/// This rank's share, by rows, of a matrix that all ranks have.
template <class V>
TileEntries<V> share_of_whole(const Comm& comm, const Csr<V>& whole);
/// Rows from `first_row` on of a matrix of so many rows.
template <class V>
TileEntries<V> entries_of_rows(const CsrView<V>& part, std::int64_t first_row, std::int64_t rows);
/// Of a matrix shared out in any way. Collective.
template <class V>
TileEntries<V> entries_of_dist(const DistCsr<V>& d);

/// The entries of each `width` rows that follow one another, and behind them of each `width` columns: of the whole
/// matrix. Collective.
template <class V>
std::vector<std::int64_t> count_lines(Comm& comm, const TileEntries<V>& here, std::int64_t width);
/// The entries between any two of the row cuts and any two of the column cuts that follow one another, row by row: of the
/// whole matrix. Cuts ascend from 0 to the number of rows (columns). Collective.
template <class V>
std::vector<std::int64_t> count_cells(Comm& comm, const TileEntries<V>& here,
                                      std::span<const std::int64_t> row_cuts,
                                      std::span<const std::int64_t> col_cuts);

}  // namespace penstock
