#include "penstock/kernel/row_blocks.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock {

std::vector<RowBlock> row_blocks(std::span<const Offset> indptr, const BlockShape& shape) {
  require(shape.budget > 0 && shape.row_align > 0 && !indptr.empty(),
          "row_blocks: a budget and an alignment above 0");
  const auto rows = static_cast<std::int64_t>(indptr.size()) - 1;
  const auto whole =
      std::max<Offset>(1, (shape.budget - shape.row_cost) / std::max<std::int64_t>(1, shape.nnz_cost));
  std::vector<RowBlock> blocks;
  for (std::int64_t r = 0; r < rows;) {
    const auto fits = [&](std::int64_t end) {
      return (indptr[end] - indptr[r]) * shape.nnz_cost + (end - r) * shape.row_cost <= shape.budget;
    };
    if (const Offset length = indptr[r + 1] - indptr[r]; length > whole) {
      for (Offset k = 0; k < length; k += whole)
        blocks.push_back({r, 1, indptr[r] + k, std::min(whole, length - k), true});
      ++r;
      continue;
    }
    std::int64_t low = r + 1, step = 1;  // the largest end of rows that still fits lies in [low, low + step)
    while (low + step <= rows && fits(low + step)) low += step, step *= 2;
    for (; step > 0; step /= 2)
      if (low + step <= rows && fits(low + step)) low += step;
    if (low < rows && low / shape.row_align * shape.row_align > r)
      low = low / shape.row_align * shape.row_align;
    blocks.push_back({r, low - r, indptr[r], indptr[low] - indptr[r], false});
    r = low;
  }
  return blocks;
}

}  // namespace penstock
