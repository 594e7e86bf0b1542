#pragma once
#include "penstock/comm/comm.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock {

/// partition::balanced of a matrix of which each rank knows the lengths of some rows: rows [first_row, first_row +
/// offsets.size - 1), all together every row once, in the order of the ranks; offsets begin at 0. The same partition as of
/// the whole matrix. Collective.
Partition balanced_by(Comm& comm, std::int64_t first_row, const Array<const Offset>& offsets,
                      std::int64_t rows, std::int64_t cols);
/// partition::bins of such a matrix. Rank 0 puts the offsets together, 8 bytes a row. Collective.
Partition bins_by(Comm& comm, std::int64_t first_row, Array<const Offset> offsets, std::int64_t rows,
                  std::int64_t cols);

}  // namespace penstock
