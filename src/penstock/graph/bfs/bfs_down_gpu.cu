// A top-down step: it walks the lists of the frontier in the order of the vertices, which is the order of their addresses.
// Warps claim the next vertices from one counter, so that all of them read in the same part of the edges. A list that the
// sample holds as a whole is walked by one thread without using the link; lists above kSegment are cut, and warps share the
// pieces. Lists in the GPU's own memory are walked 32 at a time, as if they were one.
#include "penstock/graph/bfs/bfs_visit_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr std::int64_t kClaim = 512;  // entries that a warp claims at once, on average

template <Access A, bool Count>
__device__ void walk_cut(const ListView& g, const BfsState& s, Index segments) {
  const auto warps = Index(gridDim.x * (kThreads / 32));
  for (auto i = Index(blockIdx.x * (kThreads / 32) + threadIdx.x / 32); i < segments; i += warps) {
    const Segment segment = s.segments[i];
    auto list = segment_of<A>(g, segment);
    if constexpr (A == Access::strided) list = share_of(list);
    walk<A, Count>(g, list, [&](Offset, Index u) { reach(s, u, segment.vertex); });
  }
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    walk_segments(ListView g, BfsState s, Index segments, bool guarded) {
  if (guarded && !s.counts->down) return;
  walk_cut<A, Count>(g, s, segments);
}

/// `segments`: of lists that are on the GPU. Their warps go on with whole lists, so that none waits for the last segment.
template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    walk_lists(ListView g, BfsState s, Index frontier, Index segments, int at_once, bool guarded) {
  if (guarded && !s.counts->down) return;
  if constexpr (kTogether<A, Count>) walk_cut<A, Count>(g, s, segments);
  const int lane = int(threadIdx.x & 31);
  for (;;) {
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&s.counts->next, unsigned(at_once));
    first = __shfl_sync(kAll, first, 0);
    if (first >= unsigned(frontier)) return;
    const unsigned at = first + unsigned(lane);
    const bool mine = lane < at_once && at < unsigned(frontier);
    const Index v = mine ? s.list[at] : 0;
    bool read = mine;
    if (!(kTogether<A, Count> && s.near) && mine && g.sample_size > 0) {
      const uint4 last = sample_of(g, v, g.sample_size / 4 - 1);
      if (is_whole(last.w)) {
        read = false;
        for (int part = 0; part < g.sample_size / 4; ++part) {
          const uint4 four = sample_of(g, v, part);
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (const Index u = sampled(slot(four, i)); u >= 0) reach(s, u, v);
        }
      }
    }
    ListOf<A> list;
    if (read) list = list_of<A>(g, v);
    if (list.size() > kSegment) list.end = list.begin;  // walk_segments walks it
    if constexpr (kTogether<A, Count>) {
      walk_as_one<A>(g, list, v, s.all_parents != nullptr, [&](Index u, Index from) { reach(s, u, from); });
    } else if constexpr (A == Access::packed) {
      walk_packed<Count>(g, list, Reach{s});
    } else if constexpr (A == Access::strided) {
      walk<A, Count>(list, g.counts, [&](Offset, Index u) { reach(s, u, v); });
    } else {
      for (unsigned left = __ballot_sync(kAll, list.size() > 0); left != 0; left &= left - 1) {
        const int owner = __ffs(int(left)) - 1;
        const Index from = __shfl_sync(kAll, v, owner);
        walk<A, Count>(from_lane(list, owner), g.counts, [&](Offset, Index u) { reach(s, u, from); });
      }
    }
  }
}

template <Access A, bool Count>
void step(const ListView& g, const BfsState& s, Frontier from, bool guarded, Stream stream) {
  const auto [frontier, edges, segments] = from;
  const auto most = full_grid(stream);
  const bool apart = !(kTogether<A, Count> && s.near);
  if (apart && segments > 0) {
    const auto blocks = blocks_for(std::int64_t(segments) * 32);
    launch(walk_segments<A, Count>, std::min(blocks, most), stream, g, s, segments, guarded);
  }
  // Few lists are spread over all warps; many are taken 32 at a time.
  const auto warps = most * (kThreads / 32);
  auto at_once = (frontier + warps - 1) / warps;
  if (at_once > 32 || A == Access::strided) at_once = 32;
  // A warp that takes 32 long lists is the last one to end.
  if (const auto fit = kClaim * frontier / std::max<std::int64_t>(1, edges);
      kTogether<A, Count> && at_once > fit)
    at_once = std::max<std::int64_t>(1, fit);
  const auto together = apart ? 0 : segments;
  const auto blocks = blocks_for(((frontier + at_once - 1) / at_once + together) * 32);
  launch(walk_lists<A, Count>, std::min(blocks, most), stream, g, s, frontier, together, int(at_once),
         guarded);
}

}  // namespace

void step_down(const ListView& g, const BfsState& s, Frontier from, bool guarded, Access access, bool count,
               Stream stream) {
  if (from.vertices == 0) return;
  const UseDevice use(stream.where);
  with_any_access(access, [&]<Access A>() {
    count ? step<A, true>(g, s, from, guarded, stream) : step<A, false>(g, s, from, guarded, stream);
  });
}

}  // namespace penstock::gpu
