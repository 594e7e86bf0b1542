#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "penstock/format/csr.hpp"

// Sorting the columns of one row: a key is a column in the upper 32 bits and where its value is in the lower 32.
namespace penstock {

/// Sorts by the `bits` lowest bits of the upper half, stably, with `spare` as large as `keys`; returns which of the two
/// holds the result. Radix sort from the lowest digit; std::sort below what its counters cost.
inline std::uint64_t* sort_keys(std::uint64_t* keys, std::uint64_t* spare, std::int64_t n, int bits) {
  if (n < 40) {
    std::sort(keys, keys + n);  // the lower halves ascend already where that matters: stable
    return keys;
  }
  const int width = n < 1500 ? 8 : 11;
  const int passes = std::max(1, (bits + width - 1) / width);
  constexpr int kMostPasses = 4;
  std::uint32_t count[kMostPasses][1 << 11];
  const auto digits = std::uint32_t{1} << width;
  for (int p = 0; p < passes; ++p) std::fill_n(count[p], digits, 0u);
  for (std::int64_t i = 0; i < n; ++i)
    for (int p = 0; p < passes; ++p) ++count[p][(keys[i] >> (32 + p * width)) & (digits - 1)];
  for (int p = 0; p < passes; ++p) {
    auto* at = count[p];
    std::uint32_t sum = 0;
    for (std::uint32_t d = 0; d < digits; ++d) sum += std::exchange(at[d], sum);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto key = keys[i];
      spare[at[(key >> (32 + p * width)) & (digits - 1)]++] = key;
    }
    std::swap(keys, spare);
  }
  return keys;
}

}  // namespace penstock
