#pragma once
#include "penstock/graph/gpu/lists_gpu.cuh"
#include "penstock/graph/sssp/sssp_packed_lists_gpu.cuh"
#include "penstock/graph/sssp/sssp_window_gpu.cuh"

// How kernels read neighbour lists with their weights. A lane takes four ids (16 bytes) and their four weights (4 bytes, if a
// weight is one byte) at once, so that a warp requests whole lines of ids and a line of weights. One warp reads several short
// lists at a time. An `Edges` of sssp_edges_gpu.cuh says what is done with the edges:
//   e.take<N>(ids, weights, owners, keys of the owners, found): an id of -1 is no entry; found[i] = what owner i gets.
namespace penstock::gpu {

constexpr int kWarps = kThreads / 32;
constexpr int kShortList = 32;  // entries of a short list; a warp reads longer lists one at a time

/// Loads four entries from position i on, without those beyond the array.
template <class T>
__device__ void load_four(const T* from, Offset i, Offset count, T (&to)[4]) {
  if (i + 4 <= count) {
    if constexpr (sizeof(T) == 1) {
      const auto x = __ldcs(reinterpret_cast<const unsigned*>(from + i));
      memcpy(to, &x, 4);
    } else if constexpr (sizeof(T) == 2) {
      const auto x = __ldcs(reinterpret_cast<const uint2*>(from + i));
      memcpy(to, &x, 8);
    } else if constexpr (sizeof(T) == 4) {
      const auto x = __ldcs(reinterpret_cast<const uint4*>(from + i));
      memcpy(to, &x, 16);
    } else {
      const auto x = __ldcs(reinterpret_cast<const uint4*>(from + i));
      const auto y = __ldcs(reinterpret_cast<const uint4*>(from + i) + 1);
      memcpy(to, &x, 16);
      memcpy(to + 2, &y, 16);
    }
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k) to[k] = i + k < count ? from[i + k] : T(0);
  }
}

/// Loads a single weight, for the lanes that call it. The sectors of a strided walk are counted when it enters them.
template <bool Count, bool Strided, class W>
__device__ W load_weight(const WeightView<W>& weights, const List& list, Offset i, LinkCounts* counts) {
  if constexpr (is_pattern<W>) {
    return W{};
  } else {
    const W* at = (list.cached ? weights.cache : weights.edges) + i;
    if constexpr (Count) {
      const bool enters = !Strided || i == list.begin || (reinterpret_cast<std::uintptr_t>(at) & 31) == 0;
      const unsigned live = __ballot_sync(__activemask(), enters && !list.cached);
      if (enters && !list.cached) count_request(counts, live, at);
    }
    return read_once(at);
  }
}

/// f(id, weight) for every entry of one list, of the warp (strided: of the lane), by single loads.
template <Access A, bool Count, class W, class F>
__device__ void walk_edges(const ListView& g, const WeightView<W>& weights, const ListOf<A>& list, F&& f) {
  if constexpr (A == Access::packed) {
    decode<32, Count, true>(g, list, kAll, [&](Offset, Index u, std::uint32_t length, bool mine) {
      if (mine) f(u, W{length});
      return false;
    });
  } else {
    walk<A, Count>(list, g.counts, [&](Offset i, Index u) {
      f(u, load_weight<Count, A == Access::strided>(weights, list, i, g.counts));
    });
  }
}

/// Walks one list, of the warp (strided: of the lane), by single loads. Returns the least that the lane found.
template <Access A, bool Count, class W, class E>
__device__ auto walk_by_one(const ListView& g, const WeightView<W>& weights, const E& e,
                            const ListOf<A>& list, Index owner, typename E::K from) {
  using K = typename E::K;
  K best = E::kNone;
  walk_edges<A, Count>(g, weights, list, [&](Index u, W edge) {
    const Index id[1] = {u}, owners[1] = {owner};
    const W weight[1] = {edge};
    const K from_of[1] = {from};
    K found[1];
    e.template take<1>(id, weight, owners, from_of, found);
    best = found[0] < best ? found[0] : best;
  });
  return best;
}

/// The same by loads of four entries; all lanes of a warp have the same list.
template <Access A, bool Count, class W, class E>
__device__ auto walk_by_four(const ListView& g, const WeightView<W>& weights, const E& e, const List& list,
                             Index owner, typename E::K from) {
  using K = typename E::K;
  constexpr int kParts = 2;  // loads in flight a lane
  constexpr int kEntries = 4 * kParts;
  const int lane = int(threadIdx.x & 31);
  const Offset count = list.cached ? weights.cache_count : weights.edge_count;
  const W* values = list.cached ? weights.cache : weights.edges;
  const auto skew = Offset(reinterpret_cast<std::uintptr_t>(list.ids + list.begin) / sizeof(Index) %
                           (A == Access::aligned ? 32 : 4));
  K best = E::kNone;
  for (Offset base = list.begin - skew; base < list.end; base += 128 * kParts) {
    Index id[kEntries], owners[kEntries];
    W weight[kEntries];
    K from_of[kEntries], found[kEntries];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const Offset i = base + part * 128 + lane * 4;
      const bool mine = i < list.end && i + 4 > list.begin;
      if constexpr (Count) {
        const unsigned live = __ballot_sync(kAll, mine && !list.cached);
        if (mine && !list.cached) {
          count_request(g.counts, live, list.ids + i);
          if constexpr (!is_pattern<W>) {
            count_request(g.counts, live, values + i);
            if constexpr (sizeof(W) == 8) count_request(g.counts, live, values + i + 2);
          }
        }
      }
      Index ids[4] = {-1, -1, -1, -1};
      if (mine) load_four(list.ids, i, count, ids);
      if constexpr (!is_pattern<W>) {
        W some[4] = {};
        if (mine) load_four(values, i, count, some);
#pragma unroll
        for (int k = 0; k < 4; ++k) weight[4 * part + k] = some[k];
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) id[4 * part + k] = i + k >= list.begin && i + k < list.end ? ids[k] : -1;
    }
#pragma unroll
    for (int k = 0; k < kEntries; ++k) owners[k] = owner, from_of[k] = from;
    e.template take<kEntries>(id, weight, owners, from_of, found);
#pragma unroll
    for (int k = 0; k < kEntries; ++k) best = found[k] < best ? found[k] : best;
  }
  return best;
}

template <Access A, bool Count, class W, class E>
__device__ auto walk_list(const ListView& g, const WeightView<W>& weights, const E& e, const ListOf<A>& list,
                          Index owner, typename E::K from) {
  if constexpr (A == Access::aligned || A == Access::direct) {
    if (weights.by_four) return walk_by_four<A, Count>(g, weights, e, list, owner, from);
  }
  return walk_by_one<A, Count>(g, weights, e, list, owner, from);
}

/// Walks lists of at most kShortList entries, one for each lane (it may be empty). The whole warp takes their entries one
/// after the other. `best` is shared memory for kThreads keys. Returns the least that was found in the lane's own list.
template <bool Count, class W, class E>
__device__ auto walk_short(const ListView& g, const WeightView<W>& weights, const E& e, const List& mine,
                           Index owner, typename E::K from, typename E::K* best) {
  using K = typename E::K;
  constexpr int kParts = 2;
  const int lane = int(threadIdx.x & 31);
  K* const bests = best + (threadIdx.x & ~31u);
  const int size = int(mine.size());
  int before = size;
#pragma unroll
  for (int d = 1; d < 32; d *= 2)
    if (const int other = __shfl_up_sync(kAll, before, d); lane >= d) before += other;
  const int total = __shfl_sync(kAll, before, 31);
  before -= size;
  if (total == 0) return E::kNone;
  bests[lane] = E::kNone;
  __syncwarp();
  for (int base = 0; base < total; base += 32 * kParts) {
    Index id[kParts], owners[kParts];
    W weight[kParts];
    K from_of[kParts], found[kParts];
    int lanes[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int n = base + part * 32 + lane;
      int of = 0;  // the last lane that has at most n entries before it
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        if (const int b = __shfl_sync(kAll, before, of + step); b <= n) of += step;
      const bool live = n < total;
      const Offset i = __shfl_sync(kAll, mine.begin, of) + (n - __shfl_sync(kAll, before, of));
      const bool cached = __shfl_sync(kAll, int(mine.cached), of) != 0;
      owners[part] = __shfl_sync(kAll, owner, of);
      from_of[part] = __shfl_sync(kAll, from, of);
      lanes[part] = of;
      const Index* ids = cached ? g.cache : g.edges;
      if constexpr (Count) {
        const unsigned reads = __ballot_sync(kAll, live && !cached);
        if (live && !cached) {
          count_request(g.counts, reads, ids + i);
          if constexpr (!is_pattern<W>) count_request(g.counts, reads, weights.edges + i);
        }
      }
      id[part] = live ? read_once(ids + i) : -1;
      if constexpr (!is_pattern<W>)
        weight[part] = live ? read_once((cached ? weights.cache : weights.edges) + i) : W(0);
    }
    e.template take<kParts>(id, weight, owners, from_of, found);
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      if (found[part] < E::kNone) atomicMin(&bests[lanes[part]], found[part]);
  }
  __syncwarp();
  return bests[lane];
}

/// Walks the lists of all lanes of a warp, of any length; they may be empty. Each lane gets the least that was found in its
/// own list.
template <Access A, bool Count, class W, class E>
__device__ auto walk_lanes(const ListView& g, const WeightView<W>& weights, const E& e, const ListOf<A>& mine,
                           Index owner, typename E::K from, typename E::K* best) {
  using K = typename E::K;
  const int lane = int(threadIdx.x & 31);
  K found = E::kNone;
  if constexpr (A == Access::strided) {
    found = walk_by_one<A, Count>(g, weights, e, mine, owner, from);
  } else if constexpr (A == Access::packed) {
    PackedList whole = mine;
    if (mine.in_pieces) whole.end = whole.begin;
    found = walk_packed_lanes<Count, W>(g, e, whole, owner, from, best);
    for (unsigned left = __ballot_sync(kAll, mine.in_pieces && mine.size() > 0); left != 0;
         left &= left - 1) {
      const int of = __ffs(int(left)) - 1;
      const K least = min_warp(walk_by_one<A, Count>(
          g, weights, e, list_from(mine, of), __shfl_sync(kAll, owner, of), __shfl_sync(kAll, from, of)));
      if (lane == of) found = least;
    }
  } else {
    constexpr bool kTogether = A == Access::aligned || A == Access::direct;
    const bool is_short = kTogether && mine.size() <= kShortList;
    if constexpr (kTogether) {
      List some = mine;
      if (!is_short) some.end = some.begin;
      found = walk_short<Count>(g, weights, e, some, owner, from, best);
    }
    for (unsigned left = __ballot_sync(kAll, !is_short && mine.size() > 0); left != 0; left &= left - 1) {
      const int of = __ffs(int(left)) - 1;
      const bool cached = __shfl_sync(kAll, int(mine.cached), of) != 0;
      const List list{cached ? g.cache : g.edges, __shfl_sync(kAll, mine.begin, of),
                      __shfl_sync(kAll, mine.end, of), cached};
      const K least = min_warp(walk_list<A, Count>(g, weights, e, list, __shfl_sync(kAll, owner, of),
                                                   __shfl_sync(kAll, from, of)));
      if (lane == of) found = least;
    }
  }
  return found;
}

}  // namespace penstock::gpu
