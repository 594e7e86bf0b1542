#pragma once
#include "penstock/graph/cc/cc_gpu_state.hpp"
#include "penstock/graph/gpu/lists_gpu.cuh"

// Trees that all threads grow at the same time, without locks. A parent is smaller than its child, so there are no cycles, and
// the root of a finished component is its smallest vertex. The parent of a root is set by compare-and-swap. A vertex that has
// a parent never becomes a root again, so its parent may be replaced by any vertex above, with plain stores.
//
// Plain loads may return old values, because the first-level cache, which serves the parents of hubs, does not see the writes
// of other blocks. An old parent is still a vertex of the same tree, and a vertex that looks like a root is one only if the
// compare-and-swap succeeds.
namespace penstock::gpu {

/// A vertex above v, or v itself, that was a root. Shortens the path behind it (Jaiganesh, Burtscher 2018).
__device__ inline Index climb(Index* parent, Index v) {
  Index above = parent[v];
  while (above != v) {
    const Index next = parent[above];
    if (next == above) break;
    parent[v] = next;
    v = above, above = next;
  }
  return above;
}

inline constexpr int kShort = 16;  // steps before a path is shortened for other threads

/// The root of v, at a time when no root gets a parent. If a path is long, many threads walk it at once, and each halves what
/// is left for all. So a walk, which bypasses the first-level cache, takes about as many steps as the logarithm of the path's
/// length.
__device__ inline Index root_of(Index* parent, Index v) {
  Index above = parent[v];
  for (int i = 0; i < kShort; ++i) {
    if (above == v) return v;
    v = above, above = parent[v];
  }
  while (above != v) {
    const Index next = __ldcg(&parent[above]);
    if (next == above) break;
    parent[v] = next;
    v = above, above = next;
  }
  return above;
}

/// Joins the trees of a and b, and returns a vertex above both. An attempt that fails continues with a smaller vertex, so it
/// ends.
__device__ inline Index unite(Index* parent, Index a, Index b) {
  a = climb(parent, a), b = climb(parent, b);
  while (a != b) {
    const Index high = a > b ? a : b, low = a > b ? b : a;
    const Index old = atomicCAS(&parent[high], high, low);
    if (old == high) return low;
    a = climb(parent, old), b = low;
  }
  return a;
}

/// Whether v is known to be in the giant's tree, whose root may have got a parent since it was found.
__device__ inline bool is_inside(Index* parent, Index v, Index giant) {
  if (giant < 0) return false;
  return parent[v] == giant || climb(parent, v) == climb(parent, giant);
}

inline constexpr int kFirst = 2;        // entries of the list that are read if there is no sample
inline constexpr int kFirstPacked = 4;  // of a packed list

/// Calls f(u) for neighbours of v that cost little: the first four slots of the sample (with `all`, every slot), or without a
/// sample the first two of its list (four, if it is packed). All lanes of a warp call it.
template <bool Count, class F>
__device__ void first_neighbours(const ListView& g, std::int64_t v, bool live, bool all, F&& f) {
  if (g.sample_size > 0) {
    const int parts = !live ? 0 : all ? g.sample_size / 4 : 1;
    for (int part = 0; part < parts; ++part) {
      const uint4 four = sample_of(g, Index(v), part);
      const std::uint32_t slots[] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (const Index u = sampled(slots[i]); u >= 0) f(u);
    }
    return;
  }
  if (g.packed.heads) {
    if (live)
      walk_first<Count>(g, packed_list(g.packed, Index(v)), kFirstPacked,
                        [&](Index u) { return f(u), false; });
    return;
  }
  List list;
  if (live) list = list_of(g, Index(v));
#pragma unroll
  for (int i = 0; i < kFirst; ++i) {
    const bool mine = list.size() > i;
    const Index* at = list.ids + list.begin + i;
    if constexpr (Count) {
      const bool enters =
          mine && !list.cached && (i == 0 || (reinterpret_cast<std::uintptr_t>(at) & 31) == 0);
      const unsigned lanes = __ballot_sync(kAll, enters);
      if (enters) count_request(g.counts, lanes, at);
    }
    if (mine) f(*at);
  }
}

/// Whether first_neighbours() with `all` goes through the whole list of v.
__device__ inline bool has_whole(const ListView& g, Index v) {
  if (g.sample_size > 0) return is_whole(g.sample[(std::int64_t(v) + 1) * g.sample_size - 1]);
  return degree_of(g, v) <= (g.packed.heads ? kFirstPacked : kFirst);
}

}  // namespace penstock::gpu
