#pragma once
#include <algorithm>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/solver/multigrid/gpu/made_on.hpp"

// Steps over the rows of a matrix that is not in the device's memory: blocks of rows are copied there, one after the other. Steps that read
// it where it is would ask the link for a few bytes at a time.
namespace penstock {

struct RowRange {
  std::int64_t first = 0, rows = 0;
  Offset nnz = 0;
};

/// Ranges of rows with `most` entries each, or a single vertex; a vertex has `rows_of_vertex` of them. `offsets` is read by the CPU.
inline std::vector<RowRange> ranges_of(const Offset* offsets, std::int64_t rows, Offset most,
                                       std::int64_t rows_of_vertex = 1) {
  std::vector<RowRange> out;
  for (std::int64_t first = 0; first < rows;) {
    const auto* end = std::upper_bound(offsets + first + 1, offsets + rows + 1, offsets[first] + most) - 1;
    const auto whole = (end - offsets) / rows_of_vertex * rows_of_vertex;
    const auto last = std::max<std::int64_t>(whole, first + rows_of_vertex);
    out.push_back({first, last - first, offsets[last] - offsets[first]});
    first = last;
  }
  return out;
}

/// A step for rows from `first` on.
template <class Step>
struct FromRow {
  Step step;
  std::int64_t first;
  constexpr void operator()(std::int64_t i) const { step(first + i); }
};

/// f(view, range) for ranges of rows of A, in order: `view` has the rows up to the end of the range, and those of the range may be read,
/// under their own numbers. With a block of 0 A is in the device's memory, and there is one range.
template <class T, class F>
void for_rows(const Csr<T>& a, Offset block, Stream stream, F&& f, std::int64_t rows_of_vertex = 1) {
  if (block == 0) return f(a.view(), RowRange{0, a.rows, a.nnz()});
  for (const auto& range : ranges_of(a.indptr.data, a.rows, block, rows_of_vertex)) {
    poll_interrupt();
    const auto at = a.indptr.data[range.first];
    const auto indptr = scratch_on<Offset>(range.rows + 1, stream);
    const auto indices = scratch_on<Index>(range.nnz, stream);
    const auto values = scratch_on<T>(range.nnz, stream);
    copy_async(indptr.data, a.indptr.data + range.first, indptr.bytes(), stream);
    copy_async(indices.data, a.indices.data + at, indices.bytes(), stream);
    copy_async(values.data, a.values.data + at, values.bytes(), stream);
    f(CsrView<T>{.rows = range.first + range.rows,
                 .cols = a.cols,
                 .first_nnz = 0,
                 .indptr = indptr.data - range.first,
                 .indices = indices.data - at,
                 .values = values.data - at,
                 .count = range.nnz},
      range);
  }
}

/// step(view) for each row of A; with `behind`, for the end of a block, too.
template <class T, class F>
void each_row(const Csr<T>& a, Offset block, Stream stream, F&& step, bool behind = false) {
  for_rows(a, block, stream, [&](const CsrView<T>& view, const RowRange& range) {
    each(range.rows + (behind ? 1 : 0), FromRow<decltype(step(view))>{step(view), range.first}, stream);
  });
}

}  // namespace penstock
