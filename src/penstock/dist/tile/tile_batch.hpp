#pragma once
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// Products of small tiles that go to one tile of C, put together: [A(i, k1) A(i, k2) ...] times B(k1, j) above B(k2, j) ...
/// is one product of rows, whose sums need no merging. Tiles are copied, so that they may go.
template <class VA, class VB>
class TileBatch {
 public:
  void add(const CsrView<VA>& a, const CsrView<VB>& b) {
    if (parts_.empty()) rows_ = a.rows, b_ends_.assign(1, 0), b_cols_ = b.cols;
    Part part{static_cast<std::int64_t>(a_columns_.size())};
    const auto first = static_cast<Index>(b_ends_.size() - 1);
    part.ends.assign(a.indptr + 1, a.indptr + a.rows + 1);
    for (Offset e = 0; e < a.nnz(); ++e) a_columns_.push_back(first + a.indices[e]);
    const auto before = b_ends_.back();
    for (std::int64_t r = 1; r <= b.rows; ++r) b_ends_.push_back(before + b.indptr[r]);
    b_columns_.insert(b_columns_.end(), b.indices, b.indices + b.nnz());
    if constexpr (!is_pattern<VA>) a_values_.insert(a_values_.end(), a.values, a.values + a.nnz());
    if constexpr (!is_pattern<VB>) b_values_.insert(b_values_.end(), b.values, b.values + b.nnz());
    parts_.push_back(std::move(part));
  }
  bool empty() const { return parts_.empty(); }
  /// Rows and entries held.
  std::int64_t size() const {
    return static_cast<std::int64_t>(b_ends_.size() + b_columns_.size() + a_columns_.size()) +
           std::ssize(parts_) * rows_;
  }

  /// f(A, B) of all that was added, which is then forgotten.
  template <class F>
  void take(F&& f) {
    std::vector<Offset> ends(static_cast<std::size_t>(rows_) + 1);
    std::vector<Index> columns(a_columns_.size());
    std::vector<VA> values(is_pattern<VA> ? 0 : a_columns_.size());
    std::size_t n = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows_); ++r) {
      for (const auto& part : parts_)
        for (auto e = r == 0 ? 0 : part.ends[r - 1]; e < part.ends[r]; ++e, ++n) {
          const auto from = static_cast<std::size_t>(part.first + e);
          columns[n] = a_columns_[from];
          if constexpr (!is_pattern<VA>) values[n] = a_values_[from];
        }
      ends[r + 1] = static_cast<Offset>(n);
    }
    CsrView<VA> a{
        .rows = rows_, .cols = std::ssize(b_ends_) - 1, .indptr = ends.data(), .indices = columns.data()};
    CsrView<VB> b{.rows = a.cols, .cols = b_cols_, .indptr = b_ends_.data(), .indices = b_columns_.data()};
    a.count = std::ssize(columns), b.count = std::ssize(b_columns_);
    if constexpr (!is_pattern<VA>) a.values = values.data();
    if constexpr (!is_pattern<VB>) b.values = b_values_.data();
    f(a, b);
    *this = {};
  }

 private:
  struct Part {
    std::int64_t first = 0;  // of its entries of A
    std::vector<Offset> ends = {};
  };
  std::int64_t rows_ = 0, b_cols_ = 0;
  std::vector<Part> parts_;
  std::vector<Index> a_columns_, b_columns_;
  std::vector<Offset> b_ends_;
  std::vector<VA> a_values_;
  std::vector<VB> b_values_;
};

}  // namespace penstock
