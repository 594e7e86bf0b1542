#pragma once
#include <algorithm>
#include <vector>

#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {

/// Rows that one thread makes, one after the other.
template <class V>
struct RowPiece {
  std::vector<Index> indices;
  std::vector<V> values;  // unused when V is One
};

/// A matrix whose rows are made by append(row, piece), in ranges that threads share. `cost` as in row_ranges.
template <class V, class Cost, class F>
Csr<V> rows_in_ranges(std::int64_t rows, std::int64_t cols, Cost&& cost, F&& append) {
  const auto starts = row_ranges(rows, cost);
  const auto ranges = std::ssize(starts) - 1;
  std::vector<RowPiece<V>> pieces(at(std::max<std::int64_t>(ranges, 0)));
  const auto indptr = allocate<Offset>(rows + 1);
  parallel_for(ranges, [&](std::int64_t i) {
    poll_interrupt();
    auto& piece = pieces[at(i)];
    for (auto r = starts[at(i)]; r < starts[at(i + 1)]; ++r) {
      const auto before = std::ssize(piece.indices);
      append(r, piece);
      indptr.data[r + 1] = std::ssize(piece.indices) - before;
    }
  });
  Csr<V> made;
  made.rows = rows, made.cols = cols;
  const auto nnz = lengths_to_offsets(indptr);
  const auto indices = allocate<Index>(std::max<Offset>(nnz, 1));
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(std::max<Offset>(nnz, 1));
  parallel_for(ranges, [&](std::int64_t i) {
    auto& piece = pieces[at(i)];
    const auto to = indptr.data[starts[at(i)]];
    std::copy(piece.indices.begin(), piece.indices.end(), indices.data + to);
    if constexpr (!is_pattern<V>) std::copy(piece.values.begin(), piece.values.end(), values.data + to);
    piece = {};
  });
  made.indptr = indptr;
  made.indices = indices.slice(0, nnz);
  if constexpr (!is_pattern<V>) made.values = values.slice(0, nnz);
  return made;
}

}  // namespace penstock
