#pragma once
#include <algorithm>

#include "penstock/dist/tile/tiles.hpp"

// How a sum of sparse tiles is cut into the pieces that travel, wherever it lies.
namespace penstock {

/// The bytes of a blob of so many rows and entries.
template <class P>
std::int64_t rows_bytes(std::int64_t rows, Offset n) {
  return blob_bytes(true, tile_value<P>(), rows, 0, n);
}

/// f(row, count, first, n) for pieces of at most `most` bytes, at least one: entries [first, first + n), which lie in `count`
/// rows from `row` on; as many rows as fit, or a part of a long one.
template <class P, class F>
void cut_rows(const Offset* indptr, std::int64_t rows, Offset nnz, std::int64_t most, F&& f) {
  std::int64_t row = 0;
  Offset first = 0;
  do {
    while (row < rows && indptr[row + 1] <= first) ++row;
    std::int64_t count = 0;
    Offset n = 0;
    for (; row + count < rows; ++count) {
      const auto more = indptr[row + count + 1] - std::max(first, indptr[row + count]);
      if (rows_bytes<P>(count + 1, n + more) > most) break;
      n += more;
    }
    if (count == 0 && row < rows) {  // two offsets, and columns that are padded
      count = 1;
      n = (most - 16 - 8) / (4 + value_bytes<P>);
    }
    f(row, count, first, n);
    first += n;
  } while (first < nnz);
}

}  // namespace penstock
