#pragma once

#include "penstock/graph/gpu/packed_lists_gpu.cuh"
#include "penstock/graph/triangles/triangles_orient_gpu.hpp"

namespace penstock::gpu {

/// What a thread has seen of the lists of its vertices.
struct SeenOfLists {
  unsigned long long below = 0, connected = 0, most = 0;
  double lookups = 0, pairs = 0;

  /// A list of so many entries, `low` of which are smaller than its vertex.
  __device__ void add(Offset low, Offset degree) {
    below += static_cast<unsigned long long>(low);
    connected += degree > 0;
    most = max(most, static_cast<unsigned long long>(degree));
    lookups += double(low) * double(degree - low);
    pairs += double(low) * double(low - 1) / 2;
  }

  /// Sums over the warp, all of whose lanes call it, and adds that to the facts.
  __device__ void add_to(PatternFacts* facts) const {
    const auto all_below = add_group(below, 32), all_connected = add_group(connected, 32);
    const auto all_lookups = add_group(lookups, 32), all_pairs = add_group(pairs, 32);
    auto longest = most;
#pragma unroll
    for (int d = 16; d > 0; d /= 2) longest = max(longest, __shfl_down_sync(kAll, longest, d));
    if ((threadIdx.x & 31) != 0) return;
    atomicAdd(&facts->below, all_below);
    atomicAdd(&facts->connected, all_connected);
    atomicMax(&facts->most, longest);
    atomicAdd(&facts->lookups, all_lookups);
    atomicAdd(&facts->pairs, all_pairs);
  }
};

}  // namespace penstock::gpu
