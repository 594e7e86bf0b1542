#pragma once
#include "penstock/graph/bfs/bfs_gpu_state.hpp"
#include "penstock/graph/gpu/lists_gpu.cuh"

// What top-down kernels do with one edge.
namespace penstock::gpu {

__device__ inline bool has(const Bits* bits, Index v) { return bits[v >> 5] >> (v & 31) & 1; }

/// Reaches u from vertex v of this part. Most edges lead to visited vertices, so it reads before the atomic operation. The
/// value may be old, which costs one more atomic operation.
__device__ inline void reach(const BfsState& s, Index u, Index v) {
  const Bits bit = Bits(1) << (u & 31);
  if (s.all_visited[u >> 5] & bit) return;
  if (!s.all_parents) {
    atomicOr(&s.all_visited[u >> 5], bit);
  } else if (!(atomicOr(&s.all_visited[u >> 5], bit) & bit)) {
    s.all_parents[u] = s.first + v;
  }
}

/// The same for walks of many lists.
struct Reach {
  const BfsState& s;
  Index from = 0;

  __device__ void begin(Index v) { from = v; }
  __device__ void operator()(Index u) { reach(s, u, from); }
  __device__ void end(Index, int) {}
};

__device__ inline std::uint32_t slot(const uint4& four, int i) {
  return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
}

/// The list that another lane holds. All lanes of a warp call it.
__device__ inline List from_lane(const List& mine, int owner) {
  const auto ids = __shfl_sync(kAll, reinterpret_cast<unsigned long long>(mine.ids), owner);
  return {reinterpret_cast<const Index*>(ids), __shfl_sync(kAll, mine.begin, owner),
          __shfl_sync(kAll, mine.end, owner), __shfl_sync(kAll, int(mine.cached), owner) != 0};
}

template <Access A>
__device__ ListOf<A> segment_of(const ListView& g, Segment s) {
  auto list = list_of<A>(g, s.vertex);
  list.begin += s.number * kSegment;
  list.end = list.begin + kSegment < list.end ? list.begin + kSegment : list.end;
  return list;
}

/// One lane's 32nd of a list, for strided walks.
__device__ inline List share_of(List list) {
  const Offset piece = (list.size() + 31) / 32, end = list.end;
  list.begin = min(end, list.begin + piece * (threadIdx.x & 31));
  list.end = min(end, list.begin + piece);
  return list;
}

/// Whether a warp walks the lists of its lanes as one. Instrumented kernels walk them one by one.
template <Access A, bool Count>
inline constexpr bool kTogether = (A == Access::direct || A == Access::packed) && !Count;

/// Walks them: calls f(u, v) for every u in the list of lane's v. `named`: whether v is wanted.
template <Access A, class F>
__device__ void walk_as_one(const ListView& g, const ListOf<A>& list, Index v, bool named, F&& f) {
  if constexpr (A == Access::packed) walk_packed_together(g, list, named, f);
  else walk_together(list, v, named, f);
}

/// Adds the segments of v's list to `segments`, but for its first `done` entries, a multiple of kSegment; one thread calls.
__device__ inline void cut(Segment* segments, Index v, Offset degree, Index* count, Offset done = 0) {
  const auto pieces = Index((degree - done + kSegment - 1) / kSegment), first = Index(done / kSegment);
  const Index at = atomicAdd(count, pieces);
  for (Index i = 0; i < pieces; ++i) segments[at + i] = {v, first + i};
}

}  // namespace penstock::gpu
