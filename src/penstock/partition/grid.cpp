#include "penstock/partition/partition.hpp"

namespace penstock::partition {

/// The naive distribution of Page and Kogge (2018), after their [5]: the most square process grid, equal ranges of rows
/// and of columns. Partial sums of a row meet at the row master, part (i, 0), who owns it; process (0, j) is the column
/// master through whom column j's processes are served.
Partition grid(const Csr<One>& a, std::int64_t parts) {
  auto p = begin(a, parts, PartitionKind::grid);
  // In the paper the number of parts is a square. For other numbers the grid is as nearly square as possible, with at least
  // as many rows as columns, so that a prime number of parts is cut by rows alone and needs no reduction.
  p.grid_cols = 1;
  for (std::int64_t d = 2; d * d <= parts; ++d)
    if (parts % d == 0) p.grid_cols = d;
  p.grid_rows = parts / p.grid_cols;
  for (std::int64_t i = 0; i <= p.grid_rows; ++i) p.row_cuts.push_back(share(a.rows, p.grid_rows, i));
  if (p.grid_cols > 1)
    for (std::int64_t j = 0; j <= p.grid_cols; ++j) p.col_cuts.push_back(share(a.cols, p.grid_cols, j));
  own_ranges(p);
  return p;
}

}  // namespace penstock::partition
