#pragma once
#include "penstock/graph/sssp/sssp_edges_gpu.cuh"

// Walks the lists of one window, or of one pass for predecessors. A warp takes 32 vertices. Lists above kUncut are cut,
// and all warps share the pieces in a second kernel. sssp_walk_*_gpu.cu instantiate it.
namespace penstock::gpu {
namespace {

/// Entries of a list that one warp walks.
template <Access A>
inline constexpr Offset kSegment = A == Access::packed ? kPackedPiece : kPathSegment;
/// Longer lists are cut.
template <Access A>
inline constexpr Offset kUncut = A == Access::packed ? kPackedWhole : kPathSegment;

/// How many entries before a list its first segment begins.
__device__ inline Offset skew_of(const PackedList&) { return 0; }
__device__ inline Offset skew_of(const List& list) {
  return Offset(reinterpret_cast<std::uintptr_t>(list.ids + list.begin) / sizeof(Index) % 32);
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
  if (A != Access::strided && mine.size() > kUncut<A>) {
    const auto pieces = Index((mine.size() + skew_of(mine) + kSegment<A> - 1) / kSegment<A>);
    const Index at = atomicAdd(&s.counts->segments, pieces);
    for (Index n = 0; n < pieces; ++n) s.segments[at + n] = {v, n};
    mine.end = mine.begin;
  }
  give(e, v, own, walk_lanes<A, Count>(g, weights, e, mine, v, own, best));
}

template <class D, class W, Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    walk_segments(ListView g, WeightView<W> weights, PathState<D> s, PathWalk<D> walk) {
  const Edges<D> e{s, walk.step, walk.limit};
  const auto count = std::int64_t(s.counts->segments), stride = std::int64_t(gridDim.x) * kWarps;
  for (auto n = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; n < count; n += stride) {
    const auto [v, number] = s.segments[n];
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
