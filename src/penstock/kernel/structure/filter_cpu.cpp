#include "penstock/kernel/structure/filter.hpp"

#include <algorithm>

#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {

template <class V>
Csr<V> triangle(const Csr<V>& a, std::int64_t k, bool upper) {
  const auto indptr = allocate<Offset>(a.rows + 1);
  // The place where the part of a row below the cut ends.
  const auto cut = [&](std::int64_t r) {
    const auto* const end = a.indices.data + a.indptr.data[r + 1];
    const auto column = std::clamp<std::int64_t>(r + k + (upper ? 0 : 1), 0, a.cols);
    if (column == a.cols) return a.indptr.data[r + 1];
    return std::lower_bound(a.indices.data + a.indptr.data[r], end, static_cast<Index>(column)) -
           a.indices.data;
  };
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r)
      indptr.data[r + 1] = upper ? a.indptr.data[r + 1] - cut(r) : cut(r) - a.indptr.data[r];
  });
  const auto nnz = lengths_to_offsets(indptr);
  const auto columns = allocate<Index>(nnz);
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(nnz);
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      const auto to = indptr.data[r], n = indptr.data[r + 1] - to;
      const auto from = upper ? a.indptr.data[r + 1] - n : a.indptr.data[r];
      std::copy_n(a.indices.data + from, n, columns.data + to);
      if constexpr (!is_pattern<V>) std::copy_n(a.values.data + from, n, values.data + to);
    }
  });
  return {a.rows, a.cols, indptr, columns, values};
}

template <class V>
Csr<V> without_zeros(const Csr<V>& a) {
  if constexpr (is_pattern<V>) {
    return a;
  } else {
    const auto indptr = allocate<Offset>(a.rows + 1);
    for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
      for (auto r = first; r < last; ++r) {
        Offset kept = 0;
        for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k) kept += a.values.data[k] != V{};
        indptr.data[r + 1] = kept;
      }
    });
    const auto nnz = lengths_to_offsets(indptr);
    if (nnz == a.nnz()) return a;
    const auto columns = allocate<Index>(nnz);
    const auto values = allocate<V>(nnz);
    for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
      auto to = indptr.data[first];
      for (auto k = a.indptr.data[first]; k < a.indptr.data[last]; ++k) {
        if (a.values.data[k] == V{}) continue;
        columns.data[to] = a.indices.data[k];
        values.data[to++] = a.values.data[k];
      }
    });
    return {a.rows, a.cols, indptr, columns, values};
  }
}

#define X(V)                                                   \
  template Csr<V> triangle(const Csr<V>&, std::int64_t, bool); \
  template Csr<V> without_zeros(const Csr<V>&);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
