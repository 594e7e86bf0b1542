#pragma once
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

// X + Y for matrices whose rows ascend. The entries of both and the ends of rows make one list, row by row, in which x goes
// before y if columns are equal. Pieces of that list with equal length are equal work, whatever the rows are. The entries of
// each piece are counted first; when the counts of the pieces before it have been added up, the piece is written. The CPU
// runs the same text that nvcc compiles.
namespace penstock::spgemm_add {

inline constexpr int kPiece = 16;  // items of the list that a thread takes

template <class P>
struct Sum {
  CsrRows<P> x, y;
  std::int64_t first = 0, rows = 0;  // of the sum

  Sum(const CsrRows<P>& x_, const CsrRows<P>& y_) : x(x_), y(y_) {
    const auto last_x = x.first + x.entries.rows, last_y = y.first + y.entries.rows;
    first = x.first < y.first ? x.first : y.first;
    rows = (last_x < last_y ? last_y : last_x) - first;
  }

  /// Where row r of the sum begins in the arrays of x or y.
  static constexpr Offset begin(const CsrRows<P>& m, std::int64_t row) {
    const auto r = row - m.first;
    return m.entries.indptr[r < 0 ? 0 : r < m.entries.rows ? r : m.entries.rows] - m.entries.first_nnz;
  }
  constexpr Offset x_begin(std::int64_t r) const { return begin(x, first + r); }
  constexpr Offset y_begin(std::int64_t r) const { return begin(y, first + r); }
  /// The number of the first item of row r. item(rows) is the number of all items.
  constexpr std::int64_t item(std::int64_t r) const {
    return x_begin(r) - x_begin(0) + y_begin(r) - y_begin(0) + r;
  }
  std::int64_t items() const { return x.entries.count + y.entries.count + rows; }
  std::int64_t pieces() const { return (items() + kPiece - 1) / kPiece; }
};

/// Calls entry(column, value) for the entries of a piece and end_row(r) for the rows that end in it, in order.
template <class S, class P, class Entry, class EndRow>
constexpr void walk_piece(const Sum<P>& s, std::int64_t piece, std::int64_t items, const Entry& entry,
                          const EndRow& end_row) {
  std::int64_t at = piece * kPiece;
  const std::int64_t stop = at + kPiece < items ? at + kPiece : items;
  std::int64_t row = 0, high = s.rows;  // item(row) <= at < item(high)
  while (high - row > 1) {
    const auto middle = row + (high - row) / 2;
    if (s.item(middle) <= at) row = middle;
    else high = middle;
  }
  const Index *xc = s.x.entries.indices, *yc = s.y.entries.indices;
  Offset x_first = s.x_begin(row), x_end = s.x_begin(row + 1);
  Offset y_first = s.y_begin(row), y_end = s.y_begin(row + 1);
  const Offset past = at - s.item(row);  // entries of this row, of x and of y together, before the piece
  Offset low = past > y_end - y_first ? past - (y_end - y_first) : 0;
  Offset most = past < x_end - x_first ? past : x_end - x_first;
  while (low < most) {
    const auto middle = (low + most) / 2;
    if (xc[x_first + middle] <= yc[y_first + past - middle - 1]) low = middle + 1;
    else most = middle;
  }
  Offset i = x_first + low, j = y_first + past - low;
  for (; at < stop; ++at) {
    if (i == x_end && j == y_end) {
      end_row(row);
      if (++row == s.rows) return;
      x_first = i = s.x_begin(row), x_end = s.x_begin(row + 1);
      j = s.y_begin(row), y_end = s.y_begin(row + 1);
    } else if (i < x_end && (j == y_end || xc[i] <= yc[j])) {
      if constexpr (is_pattern<P>) entry(xc[i], P{});
      else if (j < y_end && yc[j] == xc[i])
        entry(xc[i], S::add(s.x.entries.values[i], s.y.entries.values[j]));
      else entry(xc[i], s.x.entries.values[i]);
      ++i;
    } else {
      if (i == x_first || xc[i - 1] != yc[j]) {  // otherwise y's entry has been added to x's
        if constexpr (is_pattern<P>) entry(yc[j], P{});
        else entry(yc[j], s.y.entries.values[j]);
      }
      ++j;
    }
  }
}

template <class S, class P>
constexpr Offset count_piece(const Sum<P>& s, std::int64_t piece, std::int64_t items) {
  Offset n = 0;
  walk_piece<S>(
      s, piece, items, [&](Index, P) { ++n; }, [](std::int64_t) {});
  return n;
}

/// Writes the entries of a piece. `to` is how many entries of the sum the earlier pieces have.
template <class S, class P>
constexpr void write_piece(const Sum<P>& s, std::int64_t piece, std::int64_t items, Offset to, Offset* indptr,
                           Index* columns, P* values) {
  walk_piece<S>(
      s, piece, items,
      [&](Index column, P value) {
        columns[to] = column;
        if constexpr (!is_pattern<P>) values[to] = value;
        ++to;
      },
      [&](std::int64_t r) { indptr[r + 1] = to; });
}

}  // namespace penstock::spgemm_add
