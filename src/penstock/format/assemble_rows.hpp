#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/assemble.hpp"

namespace penstock {

namespace detail {

/// Writes each entry to the next free place of its row; `left` counts the free places of each row down. Returns false if a
/// row had no place left.
template <class V, class Source>
bool fill_rows(const Source& source, const Offset* indptr, Offset* left, Index* cols, V* values) {
  constexpr std::int64_t kUnits = 1 << 13;
  std::atomic<bool> fits = true;
  parallel_ranges(source.units(), kUnits, [&](std::int64_t first, std::int64_t last) {
    source.visit(first, last, [&](std::int64_t row, std::int64_t column, [[maybe_unused]] V value) {
      const auto places = std::atomic_ref(left[row]).fetch_sub(1, std::memory_order_relaxed);
      if (places <= 0) return fits.store(false, std::memory_order_relaxed);
      const auto at = indptr[row + 1] - places;
      cols[at] = static_cast<Index>(column);
      if constexpr (!is_pattern<V>) values[at] = value;
    });
  });
  return fits;
}

}  // namespace detail

/// The same as assemble_walked() (format/assemble.hpp), where the number of entries of each row is known beforehand: it walks
/// once, and needs no memory for entries beside the result. `lengths` is overwritten. Returns nothing if other entries came
/// than `lengths` says.
template <class V, class Walk>
std::optional<Csr<V>> assemble_rows(std::int64_t cols, const Array<Offset>& lengths, Walk&& walk,
                                    bool merge = true) {
  const auto rows = lengths.size;
  const int shift = detail::granule_shift(rows);
  std::vector<Offset> granules(static_cast<std::size_t>(rows == 0 ? 0 : ((rows - 1) >> shift) + 1));
  auto indptr = allocate<Offset>(rows + 1);
  indptr.data[0] = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    granules[static_cast<std::size_t>(r >> shift)] += lengths.data[r];
    indptr.data[r + 1] = indptr.data[r] + lengths.data[r];
  }
  const auto map = detail::make_buckets(rows, shift, granules);
  auto indices = allocate<Index>(map.entries);
  auto values = allocate<V>(is_pattern<V> ? 0 : map.entries);
  bool fits = true;
  walk([&](const auto& source) {
    fits = detail::fill_rows<V>(source, indptr.data, lengths.data, indices.data, values.data) && fits;
  });
  if (!fits || std::ranges::any_of(lengths.span(), [](Offset left) { return left != 0; }))
    return std::nullopt;
  return detail::merged<V>(rows, cols, map, indptr, indices, values, merge,
                           [&](const detail::RowBucket& bucket, std::vector<std::uint16_t>& local) {
                             // The bucket's own end, not the next one's begin, which another task may be writing.
                             local.resize(static_cast<std::size_t>(bucket.size));
                             auto at = bucket.begin;
                             for (std::int64_t r = 0; r < bucket.rows; ++r)
                               for (const auto end = indptr.data[bucket.first_row + r + 1]; at < end; ++at)
                                 local[static_cast<std::size_t>(at - bucket.begin)] =
                                     static_cast<std::uint16_t>(r);
                             return local.data();
                           });
}

}  // namespace penstock
