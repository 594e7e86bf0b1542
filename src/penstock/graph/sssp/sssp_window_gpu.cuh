#pragma once
#include "penstock/graph/sssp/sssp_gpu_state.hpp"
#include "penstock/kernel/launch_gpu.cuh"

// Where a window of distances ends, and sums of 64-bit numbers over a warp.
namespace penstock::gpu {

/// A vertex is near if its key is below this. `nearest` is the complement of the least key. Rounding is upwards, so the
/// nearest vertex itself is always near.
template <class D>
__device__ Key<D> end_of_window(unsigned long long nearest, D width) {
  const auto key = static_cast<Key<D>>(~nearest);
  if constexpr (std::is_integral_v<D>) {
    const unsigned long long end = static_cast<unsigned long long>(key) + width + 1;
    return end < kNoPath<D> ? Key<D>(end) : kNoPath<D>;
  } else {
    return key_of(length_of<D>(key) + width) + 1;
  }
}

__device__ inline unsigned long long max_warp(unsigned long long mine) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    const auto other = __shfl_xor_sync(kAll, mine, d);
    mine = other > mine ? other : mine;
  }
  return mine;
}
__device__ inline unsigned long long sum_warp(unsigned long long mine) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(kAll, mine, d);
  return mine;
}
__device__ inline unsigned long long min_warp(unsigned long long mine) { return ~max_warp(~mine); }

}  // namespace penstock::gpu
