#pragma once
#include <algorithm>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// The step between "count" and "fill": indptr[r + 1] holds the length of row r, and becomes the place where row r ends.
/// Returns the sum of all lengths.
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

/// The begins of ranges of whole rows that cost about the same, and the end of the last one. cost(r) is the cost of all rows
/// before r, so it never falls. It is for work whose result does not depend on the ranges.
template <class Cost>
std::vector<std::int64_t> row_ranges(std::int64_t rows, Cost&& cost) {
  constexpr std::int64_t kRangeCost = 1 << 15;
  std::vector<std::int64_t> starts{0};
  const auto end = rows == 0 ? 0 : cost(rows);
  for (auto wanted = kRangeCost; wanted < end; wanted += kRangeCost) {
    auto low = starts.back(), high = rows;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (cost(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    if (low == rows) break;
    if (low > starts.back()) starts.push_back(low);
    wanted = std::max(wanted, cost(low));
  }
  if (rows > 0) starts.push_back(rows);
  return starts;
}

/// Calls f(first, last) for such ranges, on all threads.
template <class Cost, class F>
void for_row_ranges(std::int64_t rows, Cost&& cost, F&& f) {
  const auto starts = row_ranges(rows, cost);
  parallel_for(std::ssize(starts) - 1, [&](std::int64_t i) {
    f(starts[static_cast<std::size_t>(i)], starts[static_cast<std::size_t>(i) + 1]);
  });
}

/// The same, if a row costs its entries and a little more.
template <class V, class F>
void for_row_ranges(const Csr<V>& a, F&& f) {
  for_row_ranges(
      a.rows, [&](std::int64_t r) { return a.indptr.data[r] + r; }, f);
}

}  // namespace penstock
