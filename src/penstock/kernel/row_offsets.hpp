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

}  // namespace penstock
