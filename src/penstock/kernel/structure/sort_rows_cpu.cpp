#include "penstock/kernel/structure/sort_rows.hpp"

#include <algorithm>
#include <atomic>

#include "penstock/format/assemble.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"
#include "penstock/kernel/structure/row_sorter.hpp"

namespace penstock {
namespace {

/// Sums each run of equal columns into its first entry, and returns how many entries are left.
template <class V>
std::int64_t merge_equal(Index* columns, V* values, std::int64_t n) {
  std::int64_t kept = 0;
  for (std::int64_t k = 0; k < n;) {
    auto last = k + 1;
    while (last < n && columns[last] == columns[k]) ++last;
    if constexpr (!is_pattern<V>)
      values[kept] = last == k + 1 ? values[k] : canonical_sum(values + k, last - k);
    columns[kept++] = columns[k];
    k = last;
  }
  return kept;
}

}  // namespace

RowOrder row_order(const Csr<One>& a) {
  std::atomic<bool> sorted = true, canonical = true;
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    if (!sorted.load(std::memory_order_relaxed)) return;
    bool falls = false, repeats = false;
    for (auto r = first; r < last; ++r) {
      const auto end = a.indptr.data[r + 1];
      for (auto k = a.indptr.data[r] + 1; k < end; ++k) {
        falls |= a.indices.data[k] < a.indices.data[k - 1];
        repeats |= a.indices.data[k] == a.indices.data[k - 1];
      }
    }
    if (falls) sorted.store(false, std::memory_order_relaxed);
    if (falls || repeats) canonical.store(false, std::memory_order_relaxed);
  });
  return {sorted, canonical};
}

template <class V>
Csr<V> sort_rows(const Csr<V>& a, bool merge) {
  const auto columns = allocate<Index>(a.nnz());
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(a.nnz());
  const auto indptr = allocate<Offset>(merge ? a.rows + 1 : 1);
  detail::Lent<RowSorter<V>> sorters;
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    const auto begin = a.indptr.data[first], n = a.indptr.data[last] - begin;
    std::copy_n(a.indices.data + begin, n, columns.data + begin);
    if constexpr (!is_pattern<V>) std::copy_n(a.values.data + begin, n, values.data + begin);
    sorters.with([&](RowSorter<V>& sorter) {
      for (auto r = first; r < last; ++r) {
        const auto k = a.indptr.data[r], length = a.indptr.data[r + 1] - k;
        auto* const v = is_pattern<V> ? nullptr : values.data + k;
        sorter.sort(columns.data + k, v, length, a.cols);
        if (merge) indptr.data[r + 1] = merge_equal(columns.data + k, v, length);
      }
    });
  });
  if (!merge) return {a.rows, a.cols, a.indptr, columns, values};
  const auto nnz = lengths_to_offsets(indptr);
  if (nnz == a.nnz()) return {a.rows, a.cols, indptr, columns, values};
  const auto kept = allocate<Index>(nnz);
  Array<V> kept_values;
  if constexpr (!is_pattern<V>) kept_values = allocate<V>(nnz);
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      const auto to = indptr.data[r], n = indptr.data[r + 1] - to;
      std::copy_n(columns.data + a.indptr.data[r], n, kept.data + to);
      if constexpr (!is_pattern<V>) std::copy_n(values.data + a.indptr.data[r], n, kept_values.data + to);
    }
  });
  return {a.rows, a.cols, indptr, kept, kept_values};
}

template Csr<One> sort_rows(const Csr<One>&, bool);
template Csr<float> sort_rows(const Csr<float>&, bool);
template Csr<double> sort_rows(const Csr<double>&, bool);
template Csr<Complex64> sort_rows(const Csr<Complex64>&, bool);
template Csr<Complex128> sort_rows(const Csr<Complex128>&, bool);

}  // namespace penstock
