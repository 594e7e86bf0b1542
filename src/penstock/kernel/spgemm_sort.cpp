#include "penstock/kernel/spgemm_sort.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"

namespace penstock {
namespace {

/// With Width a constant the inner loops become a few vectors.
template <int Width>
int ranks_of(const Index* columns, int n, Index* places) {
  Index place[Width] = {};
  int different = 0;
  for (int i = 0; i < n; ++i) {
    const auto c = columns[i];
    Index earlier = 0;
    for (int j = 0; j < Width; ++j) earlier += (columns[j] == c) & (j < i);
    const Index first = earlier == 0;
    different += first;
    for (int j = 0; j < Width; ++j) place[j] += (c < columns[j]) & first;
  }
  for (int j = 0; j < Width; ++j) places[j] = place[j];
  return different;
}

int ranks(const Index* columns, int n, Index* places) {
  return n <= 8 ? ranks_of<8>(columns, n, places) : ranks_of<16>(columns, n, places);
}

bool wide() { return kSimdFamily == SimdFamily::x86 && simd_level() == Simd::avx512; }

}  // namespace

UniqueRanks unique_ranks() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (wide()) return avx512::ranks;
  return ranks;
}

}  // namespace penstock
