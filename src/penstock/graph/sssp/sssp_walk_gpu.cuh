#pragma once
#include "penstock/graph/sssp/sssp_edges_gpu.cuh"

// Walks the lists of one window, or of one pass for predecessors. A warp takes 32 vertices. Lists above kUncut are cut,
// and all warps share the segments in a second kernel. sssp_walk_*_gpu.cu instantiate it.
namespace penstock::gpu {
namespace {

/// Entries of a list that one warp walks.
template <Access A>
inline constexpr Offset kSegment = A == Access::packed ? kPackedPiece : kPathSegment;
/// Longer lists are left to the second kernel. Of packed lists the warp would take 32 a chunk at a time: 32 long ones side by side
/// would be hundreds of chunks in a row.
template <Access A>
inline constexpr Offset kUncut = A == Access::packed ? kPackedAlone : kPathSegment;

/// How many entries before a list its first segment begins.
__device__ inline Offset skew_of(const PackedList&) { return 0; }
__device__ inline Offset skew_of(const List& list) {
  return Offset(reinterpret_cast<std::uintptr_t>(list.ids + list.begin) / sizeof(Index) % 32);
}

/// Where each lane's part of so many numbers begins that the warp takes from a counter. All lanes call it.
__device__ inline Index take_from(Index* counter, Index mine) {
  if (!__any_sync(kAll, mine > 0)) return 0;
  const int lane = int(threadIdx.x & 31);
  Index upto = mine;
#pragma unroll
  for (int d = 1; d < 32; d *= 2)
    if (const Index other = __shfl_up_sync(kAll, upto, d); lane >= d) upto += other;
  Index first = 0;
  if (lane == 31) first = atomicAdd(counter, upto);
  return __shfl_sync(kAll, first, 31) + upto - mine;
}

/// Leaves a long list to walk_segments(), if there is room for its segments. All lanes of a warp call it, each with a list.
template <Access A, class D>
__device__ void cut_if_long(const PathState<D>& s, ListOf<A>& list, Index v) {
  const bool is_long = list.size() > kUncut<A>;
  const auto pieces = is_long ? Index((list.size() + skew_of(list) + kSegment<A> - 1) / kSegment<A>) : 0;
  const Offset at = take_from(&s.counts->segments, pieces);
  if (!is_long) return;
  const bool fits = at + pieces <= s.most_segments;
  for (Index n = 0; n < pieces && at + n < s.most_segments; ++n) s.segments[at + n] = {v, fits ? n : -1};
  if (fits) list.end = list.begin;
}

template <class D>
__device__ void give(const Edges<D>& e, Index v, Key<D> own, Key<D> found) {
  if (e.step == PathStep::pull && found < own) lower_pending(e.s, v, found);
}

template <class D, class W, Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    walk_lists(ListView g, WeightView<W> weights, PathState<D> s, PathWalk<D> walk) {
  __shared__ Key<D> best[kThreads];
  const Edges<D> e{s, walk.step, walk.limit};
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  Index v = 0;
  Key<D> own = kNoPath<D>;
  ListOf<A> mine;
  if (i < walk.count) {
    v = walk.list ? walk.list[i] : Index(i);
    own = __ldcg(&s.distances[v]);
    if (e.concerns(own, walk.beyond)) mine = list_of<A>(g, v);
  }
  if constexpr (A != Access::strided) cut_if_long<A>(s, mine, v);
  give(e, v, own, walk_lanes<A, Count>(g, weights, e, mine, v, own, best));
}

template <class D, class W, Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    walk_segments(ListView g, WeightView<W> weights, PathState<D> s, PathWalk<D> walk) {
  const Edges<D> e{s, walk.step, walk.limit};
  const auto count = min(std::int64_t(s.counts->segments), s.most_segments);
  const auto stride = std::int64_t(gridDim.x) * kWarps;
  for (auto n = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; n < count; n += stride) {
    const auto [v, number] = s.segments[n];
    if (number < 0) continue;
    const Key<D> own = __ldcg(&s.distances[v]);
    auto list = list_of<A>(g, v);
    const Offset first = list.begin - skew_of(list) + number * kSegment<A>;
    list.end = min(list.end, first + kSegment<A>);
    list.begin = max(list.begin, first);
    const auto found = min_warp(walk_list<A, Count>(g, weights, e, list, v, own));
    if ((threadIdx.x & 31) == 0) give(e, v, own, found);
  }
}

template <class D, class W, Access A, bool Count>
__global__ void __launch_bounds__(kThreads) scan_lists(ListView g, WeightView<W> weights, PathState<D> s,
                                                       D limit, const std::uint8_t* now, std::uint8_t* next) {
  const auto thread = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto v = thread / kLanes<A>;
  ListOf<A> list;
  Key<D> from = 0;
  if (v < s.vertices && now[v]) {
    list = list_of<A>(g, Index(v));
    from = __ldcg(&s.distances[v]);
  }
  if (A != Access::strided && list.size() == 0) return;
  walk_edges<A, Count>(g, weights, list, [&](Index u, W weight) {
    const D far = longer_by(length_of<D>(from), weight);
    if (!(key_of(far) < __ldcg(&s.distances[u]))) return;
    if (far > limit) {
      s.counts->out_of_range = 1;
    } else if (key_of(far) < atomicMin(&s.distances[u], key_of(far))) {
      next[u] = 1;
      s.counts->changed = 1;
    }
  });
}

/// Calls f.operator()<A, Count>() with both as constants. Weights in packed lists are read by the one policy that decodes them.
template <class W, class F>
void with_policy(Access access, bool count, F&& f) {
  const auto policy = [&]<Access A>() {
    if (count) f.template operator()<A, true>();
    else f.template operator()<A, false>();
  };
  if constexpr (std::is_same_v<W, PackedLength>) policy.template operator()<Access::packed>();
  else with_access(access, policy);
}

}  // namespace

template <class D, class W>
void walk_paths(const ListView& g, const WeightView<W>& weights, const PathState<D>& s,
                const PathWalk<D>& walk, Access access, bool count, Stream stream) {
  if (walk.count == 0) return;
  const UseDevice use(stream.where);
  fill_async(&s.counts->segments, 0, sizeof(Index), stream);
  with_policy<W>(access, count, [&]<Access A, bool Count>() {
    launch(walk_lists<D, W, A, Count>, blocks_for(walk.count), stream, g, weights, s, walk);
    if constexpr (A != Access::strided)
      launch(walk_segments<D, W, A, Count>, full_grid(stream), stream, g, weights, s, walk);
  });
}

template <class D, class W>
void scan_paths(const ListView& g, const WeightView<W>& weights, const PathState<D>& s, D limit,
                const std::uint8_t* now, std::uint8_t* next, Access access, bool count, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(&s.counts->changed, 0, sizeof(unsigned), stream);
  with_policy<W>(access, count, [&]<Access A, bool Count>() {
    launch(scan_lists<D, W, A, Count>, blocks_for(s.vertices * kLanes<A>), stream, g, weights, s, limit, now,
           next);
  });
}

}  // namespace penstock::gpu

#define PENSTOCK_WALK_PATHS(D, W)                                                                         \
  template void penstock::gpu::walk_paths(                                                                \
      const penstock::ListView&, const penstock::gpu::WeightView<W>&, const penstock::gpu::PathState<D>&, \
      const penstock::gpu::PathWalk<D>&, penstock::Access, bool, penstock::Stream);
#define PENSTOCK_SCAN_PATHS(D, W)                                                                         \
  template void penstock::gpu::scan_paths(const penstock::ListView&, const penstock::gpu::WeightView<W>&, \
                                          const penstock::gpu::PathState<D>&, D, const std::uint8_t*,     \
                                          std::uint8_t*, penstock::Access, bool, penstock::Stream);
