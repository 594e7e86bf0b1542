#pragma once
#include <algorithm>

#include "penstock/core/reserve.hpp"
#include "penstock/dist/share/share.hpp"

namespace penstock {

/// Cuts rows into runs of entries that go to one part.
class RowRuns {
 public:
  explicit RowRuns(const Partition& p) : p_(p) {}

  /// f(part, first, last) for entries [first, last) of row r of `rows`, as positions in its arrays, in order. Rows without
  /// entries have no run.
  template <class V, class F>
  void row(const RowRange<V>& rows, std::int64_t r, F&& f) const {
    const auto& a = rows.entries;
    runs(a.indices.data, rows.first_row + r, a.indptr.data[r], a.indptr.data[r + 1], rows.first_entry, f);
  }
  /// The same of a row of which a share has all entries; positions count from the row's first entry.
  template <class V, class F>
  void row(const Share<V>& rows, std::int64_t r, F&& f) const {
    const auto id = rows.row_id(r);
    const auto& a = rows.entries;
    const auto piece = std::ranges::lower_bound(p_.pieces, id, {}, &RowPiece::row);
    const bool split = piece != p_.pieces.end() && piece->row == id;
    runs(a.indices.data, id, a.indptr.data[r], a.indptr.data[r + 1],
         split ? piece->first - a.indptr.data[r] : 0, f);
  }

 private:
  /// Position k of the arrays is entry k + shift of the whole matrix.
  template <class F>
  void runs(const Index* indices, GlobalIndex id, Offset first, Offset last, Offset shift, F&& f) const {
    if (first == last) return;
    if (p_.grid_cols > 1) return columns(indices, first, last, p_.row_owners.data[id], f);
    auto piece = std::ranges::lower_bound(p_.pieces, id, {}, &RowPiece::row);
    if (piece == p_.pieces.end() || piece->row != id) return f(p_.row_owners.data[id], first, last);
    for (; piece != p_.pieces.end() && piece->row == id; ++piece)
      f(piece->part, piece->first - shift, piece->last - shift);
  }
  template <class F>
  void columns(const Index* indices, Offset first, Offset last, Index row_part, F&& f) const {
    const auto part = [&](Offset k) {
      const auto j =
          std::ranges::upper_bound(p_.col_cuts, std::int64_t{indices[k]}) - p_.col_cuts.begin() - 1;
      return row_part + static_cast<Index>(j);
    };
    for (auto k = first; k < last;) {
      const auto mine = part(k);
      const auto begin = k;
      while (++k < last && part(k) == mine) {}
      f(mine, begin, k);
    }
  }
  const Partition& p_;
};

/// A share to which rows are added one after the other.
template <class V>
class ShareBuilder {
 public:
  ShareBuilder(std::int64_t cols, std::int64_t rows, Offset entries) {
    ids_ = allocate_apart<GlobalIndex>(rows), offsets_ = allocate_apart<Offset>(rows + 1);
    indices_ = allocate_apart<Index>(entries), values_ = allocate_apart<V>(is_pattern<V> ? 0 : entries);
    offsets_.data[0] = 0, cols_ = cols;
  }
  /// Adds a run of entries; runs of the same row that follow one another become one row.
  void add(GlobalIndex row, const Index* indices, [[maybe_unused]] const V* values, Offset count) {
    const auto at = offsets_.data[rows_];
    std::copy_n(indices, count, indices_.data + at);
    if constexpr (!is_pattern<V>) std::copy_n(values, count, values_.data + at);
    if (rows_ > 0 && ids_.data[rows_ - 1] == row) offsets_.data[rows_] += count;
    else ids_.data[rows_] = row, offsets_.data[++rows_] = at + count;
  }
  Share<V> share() const {
    const auto nnz = offsets_.data[rows_];
    Share<V> s;
    s.row_ids = ids_.slice(0, rows_);
    s.entries = {rows_, cols_, offsets_.slice(0, rows_ + 1), indices_.slice(0, nnz), {}};
    if constexpr (!is_pattern<V>) s.entries.values = values_.slice(0, nnz);
    s.consumed = true;
    return s;
  }

 private:
  Array<GlobalIndex> ids_;
  Array<Offset> offsets_;
  Array<Index> indices_;
  Array<V> values_;
  std::int64_t cols_ = 0, rows_ = 0;
};

}  // namespace penstock
