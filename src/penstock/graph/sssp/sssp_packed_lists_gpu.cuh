#pragma once
#include "penstock/graph/gpu/lists_gpu.cuh"
#include "penstock/graph/sssp/sssp_window_gpu.cuh"

// How kernels of shortest paths decode packed lists with their lengths: a warp takes the lists of its 32 lanes together.
namespace penstock::gpu {

/// Fetches what follows a list's begin into the second-level cache, which is mostly all of a list that one warp is about to walk:
/// about 16 bits an entry.
__device__ inline void fetch_ahead(const PackedListsView& p, const PackedList& list) {
  if (!list.near || list.size() == 0) return;
  const auto end = list.words == p.near
                       ? p.near_words
                       : std::int64_t(p.bases[(p.vertices + kPackedGroup - 1) / kPackedGroup]);
  const auto word = (piece_place(list, list.begin / kPackedPiece) >> 5) + 32 * (threadIdx.x & 31);
  const auto words = list.size() / 2;
  if (32 * Offset(threadIdx.x & 31) < words && word < end)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(list.words + word));
}

/// Walks lists of at most kPackedWhole entries, one for each lane (it may be empty). `best` is shared memory for kThreads keys.
/// Returns the least that was found in the lane's own list.
template <bool Count, class W, class E>
__device__ auto walk_packed_lanes(const ListView& g, const E& e, const PackedList& mine, Index owner,
                                  typename E::K from, typename E::K* best) {
  using K = typename E::K;
  constexpr int kParts = 2;
  K* const bests = best + (threadIdx.x & ~31u);
  const int lane = int(threadIdx.x & 31);
  bests[lane] = E::kNone;
  __syncwarp();
  walk_chunks<kParts, Count, true>(g, mine, [&](const LaneEntry(&entries)[kParts], const Index(&id)[kParts]) {
    Index owners[kParts];
    W length[kParts];
    K from_of[kParts], found[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      owners[part] = __shfl_sync(kAll, owner, entries[part].of);
      from_of[part] = __shfl_sync(kAll, from, entries[part].of);
      length[part] = W{entries[part].length};
    }
    e.template take<kParts>(id, length, owners, from_of, found);
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      if (found[part] < E::kNone) atomicMin(&bests[entries[part].of], found[part]);
  });
  __syncwarp();
  return bests[lane];
}

}  // namespace penstock::gpu
