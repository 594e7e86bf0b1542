#pragma once
#include <algorithm>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// The second half of "count, then fill": indptr[r + 1] holds the length of row r, and becomes where it ends. Returns
/// the sum.
inline Offset lengths_to_offsets(const Array<Offset>& indptr) {
  constexpr std::int64_t kGrain = 1 << 15;
  const auto rows = indptr.size - 1;
  std::vector<Offset> before(static_cast<std::size_t>((rows + kGrain - 1) / kGrain) + 1);
  auto* const ends = indptr.data + 1;
  parallel_ranges(rows, kGrain, [&](std::int64_t first, std::int64_t last) {
    Offset sum = 0;
    for (auto r = first; r < last; ++r) sum += ends[r];
    before[static_cast<std::size_t>(first / kGrain) + 1] = sum;
  });
  for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  indptr.data[0] = 0;
  parallel_ranges(rows, kGrain, [&](std::int64_t first, std::int64_t last) {
    auto sum = before[static_cast<std::size_t>(first / kGrain)];
    for (auto r = first; r < last; ++r) ends[r] = sum += ends[r];
  });
  return before.back();
}

/// f(first, last) over ranges of whole rows that cost about the same. `cost(r)` is what the rows before r cost: it must
/// not fall. For work whose result does not depend on where the ranges end.
template <class Cost, class F>
void for_row_ranges(std::int64_t rows, Cost&& cost, F&& f) {
  constexpr std::int64_t kRangeCost = 1 << 15;
  const auto total = rows == 0 ? 0 : cost(rows);
  const auto ranges = std::min(rows, total / kRangeCost + 1);
  const auto start = [&](std::int64_t i) {
    const auto wanted = total / ranges * i + total % ranges * i / ranges;
    std::int64_t low = 0, high = rows;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (cost(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    return i == ranges ? rows : low;
  };
  parallel_for(ranges, [&](std::int64_t i) {
    const auto first = start(i), last = start(i + 1);
    if (first < last) f(first, last);
  });
}

/// The same where a row costs its entries and a little more.
template <class V, class F>
void for_row_ranges(const Csr<V>& a, F&& f) {
  for_row_ranges(
      a.rows, [&](std::int64_t r) { return a.indptr.data[r] + r; }, f);
}

}  // namespace penstock
