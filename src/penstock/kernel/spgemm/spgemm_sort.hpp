#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "penstock/format/csr.hpp"

// Sorts the columns of one row. A key has the column in the upper 32 bits, and the place of its value in the lower 32.
namespace penstock {

/// Sorts stably by the `bits` lowest bits of the upper half. `spare` is as large as `keys`; the one that holds the result is
/// returned. It is a radix sort from the lowest digit, or std::sort if there are too few keys for the counters to pay.
inline std::uint64_t* sort_keys(std::uint64_t* keys, std::uint64_t* spare, std::int64_t n, int bits) {
  if (n < 40) {
    std::sort(keys, keys + n);  // this is stable, because the lower halves ascend where their order matters
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
