#pragma once
#include "penstock/graph/gpu/list_walk_gpu.cuh"
#include "penstock/graph/triangles/triangles_gpu_state.hpp"

// Looks many short lists up at once. Lists of social graphs have 30 to 50 ends, and a warp that walks one after the other
// spends more instructions on each than on its ends, with half of its lanes idle. Here a warp puts 32 lists side by side and
// takes 32 ends of this row at a time, whichever lists they are from.
namespace penstock::gpu {

/// Where the lists are that a warp has put side by side, in shared memory. `from[i]` + k is the k-th end of the row, if it
/// belongs to the i-th list.
struct SideBySide {
  const Index* from[32];
  bool link[32];  // for instrumented kernels: whether its reads are counted
};

/// The lists that the lanes of a warp bring, side by side: of the row's `total` ends those from `start` on are the lane's.
struct RowPart {
  int start = 0, length = 0, total = 0;
};

/// Calls has(w) for every end w of the lists that the lanes bring, the first `part.length` ends at `from`, and returns for how
/// many it holds, as the sum over the lanes. With `Each`, adds to of_number[w] for each of them, and to `own` those of the
/// lane's own list. `link` says whether reads of the list are counted. All lanes of a warp call it, with part.total > 0.
template <bool Count, bool Each, class Has>
__device__ unsigned look_up_row(LinkCounts* counts, unsigned long long* of_number, SideBySide& row,
                                const Index* from, bool link, const RowPart& part, unsigned& own, Has&& has) {
  constexpr int kBatch = 4;  // reads in flight for each lane
  const int lane = int(threadIdx.x & 31);
  const unsigned up_to_mine = kAll >> (31 - lane);
  const auto [start, length, total] = part;
  const unsigned some = __ballot_sync(kAll, length > 0);
  __syncwarp();  // the row before this one is not read any more
  if (length > 0) {
    const int at = __popc(some & up_to_mine) - 1;
    row.from[at] = from - start;
    if constexpr (Count) row.link[at] = link;
  }
  __syncwarp();
  int before = 0;  // lists that begin before the 32 ends that are looked at
  unsigned found = 0;
  for (int at = 0; at < total; at += 32 * kBatch) {
    Index id[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int window = at + 32 * b;
      id[b] = -1;
      if (window < total) {  // the same for all lanes
        const int begins = start - window;
        const unsigned heads = or_warp(length > 0 && begins >= 0 && begins < 32 ? 1u << begins : 0u);
        const int owner = before + __popc(heads & up_to_mine) - 1;
        before += __popc(heads);
        const bool reads = window + lane < total;
        const Index* const p = row.from[owner] + (window + lane);
        if constexpr (Count) {
          const bool counted = reads && row.link[owner];
          const unsigned live = __ballot_sync(kAll, counted);
          if (counted) count_request(counts, live, p);
        }
        if (reads) id[b] = __ldg(p);  // not read_once(): other warps read the list again
      }
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const bool hit = id[b] >= 0 && has(id[b]);
      found += hit;
      if constexpr (Each) {
        const unsigned hits = __ballot_sync(kAll, hit);
        const int first = max(start - (at + 32 * b), 0), last = min(start - (at + 32 * b) + length, 32);
        if (last > first) own += __popc(hits >> first & kAll >> (32 - (last - first)));
        if (hit) atomicAdd(&of_number[id[b]], 1ull);
      }
    }
  }
  return found;
}

/// The sum over this lane and those before it.
template <class T>
__device__ T add_up_to_lane(T mine) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2)
    if (const T other = __shfl_up_sync(kAll, mine, d); int(threadIdx.x & 31) >= d) mine += other;
  return mine;
}

/// Looks up the lists of ids[first, last), of which there are more than 0, as look_up_row() does. Where the lists of a row have
/// 96 ends or more on average, `walked(list, v)` walks them one by one, which then is faster (R-MAT 22 on an H200: 64 ms, and
/// 68 side by side).
template <bool Count, bool Each, class Has, class Walked>
__device__ unsigned look_up_flat(const ListView& g, unsigned long long* of_number, SideBySide& row,
                                 const Index* ids, int first, int last, Has&& has, Walked&& walked) {
  constexpr Offset kMostEnds = 32 * 96;
  const int lane = int(threadIdx.x & 31);
  unsigned found = 0;
  for (int base = first; base < last; base += 32) {
    const bool mine = base + lane < last;
    const Index v = mine ? ids[base + lane] : 0;
    List list;
    if (mine) list = list_of(g, v);
    const Offset end = add_up_to_lane((long long)(list.size()));
    const Offset ends = __shfl_sync(kAll, (long long)(end), 31);
    if (ends > kMostEnds) {
      found += walked(list, v);
      continue;
    }
    const int length = int(list.size());
    unsigned own = 0;
    found += look_up_row<Count, Each>(g.counts, of_number, row, list.ids + list.begin, !list.cached,
                                      {int(end) - length, length, int(ends)}, own, has);
    if constexpr (Each)
      if (own > 0) atomicAdd(&of_number[v], static_cast<unsigned long long>(own));
  }
  return found;
}

}  // namespace penstock::gpu
