#pragma once
#include <type_traits>

#include "penstock/core/error.hpp"
#include "penstock/graph/gpu/gpu_lists.hpp"
#include "penstock/graph/gpu/packed_lists_gpu.cuh"
#include "penstock/kernel/launch_gpu.cuh"

// How kernels read neighbour lists. All reads of `ListView::edges` are here, so that each algorithm runs with each access
// policy, with lists that are cached in device memory, and with an instrumented version (`Count`).
namespace penstock::gpu {

/// Threads that walk one list together.
template <Access A>
inline constexpr int kLanes = A == Access::strided ? 1 : 32;

/// ids[begin, end) are a vertex's neighbours. Positions count from the start of `edges` or of `cache`; weights beside either
/// array are found by the same positions.
struct List {
  const Index* ids = nullptr;
  Offset begin = 0, end = 0;
  bool cached = false;

  __device__ Offset size() const { return end - begin; }
};

__device__ inline List list_of(const ListView& g, Index v) {
  const Offset begin = g.offsets[v], end = g.offsets[v + 1];
  if (!g.list_begin) return {g.edges, begin, end, false};
  const Offset at = g.list_begin[v];
  if (at >= 0) return {g.edges, begin, end, false};
  return {g.cache, ~at, ~at + (end - begin), true};
}

/// A vertex's list as a policy reads it.
template <Access A>
using ListOf = std::conditional_t<A == Access::packed, PackedList, List>;
template <Access A>
__device__ ListOf<A> list_of(const ListView& g, Index v) {
  if constexpr (A == Access::packed) return packed_list(g.packed, v);
  else return list_of(g, v);
}
__device__ inline Offset degree_of(const ListView& g, Index v) {
  return g.offsets ? g.offsets[v + 1] - g.offsets[v] : packed_degree(g.packed, v);
}

/// Counts one load instruction. `live` are the lanes that take part; each of them calls it with its address.
__device__ inline void count_request(LinkCounts* counts, unsigned live, const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const unsigned line = __match_any_sync(live, static_cast<unsigned long long>(address >> 7));
  unsigned sectors = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) sectors += (__ballot_sync(live, (address >> 5 & 3) == i) & line) != 0;
  if ((threadIdx.x & 31) == unsigned(__ffs(int(line)) - 1)) atomicAdd(&counts->requests[sectors - 1], 1ull);
}

/// Calls f(position, id) for every entry of [begin, end) of list.ids. All lanes of a warp call it. With `strided` each lane
/// brings its own list, which may be empty; with the other policies all lanes bring the same list. A strided walk counts a
/// sector when the thread enters it, because the first-level cache serves the rest of the sector.
template <Access A, bool Count, class F>
__device__ void walk(const List& list, LinkCounts* counts, F&& f) {
  if constexpr (A == Access::strided) {
    if constexpr (Count) {
      for (Offset i = list.begin; __any_sync(kAll, i < list.end); ++i) {
        const bool mine = i < list.end;
        const Index* at = list.ids + i;
        const bool enters =
            mine && !list.cached && (i == list.begin || (reinterpret_cast<std::uintptr_t>(at) & 31) == 0);
        const unsigned live = __ballot_sync(kAll, enters);
        if (enters) count_request(counts, live, at);
        if (mine) f(i, *at);
      }
    } else {
      for (Offset i = list.begin; i < list.end; ++i) f(i, list.ids[i]);
    }
  } else {
    constexpr int kBatch = 4;  // loads in flight for each lane
    const int lane = int(threadIdx.x & 31);
    Offset first = list.begin;
    if constexpr (A == Access::aligned)
      first -= Offset(reinterpret_cast<std::uintptr_t>(list.ids + list.begin) / sizeof(Index) % 32);
    for (Offset base = first; base < list.end; base += 32 * kBatch) {
      Index id[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const Offset i = base + b * 32 + lane;
        const bool mine = i >= list.begin && i < list.end;
        if constexpr (Count) {
          const unsigned live = __ballot_sync(kAll, mine && !list.cached);
          if (mine && !list.cached) count_request(counts, live, list.ids + i);
        }
        id[b] = mine ? read_once(list.ids + i) : -1;
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b)
        if (id[b] >= 0) f(base + b * 32 + lane, id[b]);
    }
  }
}

/// Walks the lists of all lanes of a warp together, as if they were one: calls f(id, v of the list's lane) for every entry. For lists in
/// the GPU's own memory, most of which are shorter than a warp is wide. All lanes call it; the lists have fewer than 2^31 entries in
/// all. `named`: whether v is wanted; -1 otherwise.
template <class F>
__device__ void walk_together(const List& list, Index v, bool named, F&& f) {
  constexpr int kBatch = 4;  // loads in flight for each lane
  const int lane = int(threadIdx.x & 31), size = int(list.size());
  int before = size;  // becomes the inclusive, then the exclusive sum over the lanes
#pragma unroll
  for (int d = 1; d < 32; d *= 2)
    if (const int other = __shfl_up_sync(kAll, before, d); lane >= d) before += other;
  const int total = __shfl_sync(kAll, before, 31);
  if (total == 0) return;
  before -= size;
  Owners owners(size, before);
  // Entry n of all is entry n of the array that begins here, if it is in this lane's list. Most lists of a warp are near one another, so
  // they are told by 32 bits.
  const auto* start = list.ids + (list.begin - before);
  const int some = __ffs(int(__ballot_sync(kAll, size > 0))) - 1;
  const auto* first =
      reinterpret_cast<const Index*>(__shfl_sync(kAll, reinterpret_cast<unsigned long long>(start), some));
  const auto distance =
      size > 0
          ? std::int64_t(reinterpret_cast<std::uintptr_t>(start) - reinterpret_cast<std::uintptr_t>(first)) /
                std::int64_t(sizeof(Index))
          : 0;
  const bool wide = __any_sync(kAll, distance != int(distance));
  for (int base = 0; base < total; base += 32 * kBatch) {
    Index id[kBatch], from[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int n = base + b * 32 + lane, of = owners.window(base + b * 32);
      const auto* ids = first + (wide ? __shfl_sync(kAll, (long long)(distance), of)
                                      : (long long)(__shfl_sync(kAll, int(distance), of)));
      from[b] = named ? __shfl_sync(kAll, v, of) : -1;
      id[b] = n < total ? read_once(ids + n) : -1;
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
      if (id[b] >= 0) f(id[b], from[b]);
  }
}

/// walk() for the list of any policy.
template <Access A, bool Count, class F>
__device__ void walk(const ListView& g, const ListOf<A>& list, F&& f) {
  if constexpr (A == Access::packed) {
    decode<32, Count>(g, list, kAll, [&](Offset i, Index u, bool mine) {
      if (mine) f(i, u);
      return false;
    });
  } else {
    walk<A, Count>(list, g.counts, f);
  }
}

/// The lanes of a probe. Together they read 32 bytes at once, the smallest request over the link.
inline constexpr int kProbe = 8;

/// One step of a probe: reads `sectors` sectors at once, from `base` on. Returns an entry for which hit(id) holds, or -1.
template <bool Count, int sectors, class F>
__device__ Index probe_step(const List& list, Offset base, unsigned group, LinkCounts* counts, F&& hit) {
  const int lane = int(threadIdx.x) % kProbe;
  Index id[sectors];
#pragma unroll
  for (int s = 0; s < sectors; ++s) {
    const Offset i = base + s * kProbe + lane;
    const bool mine = i >= list.begin && i < list.end;
    if constexpr (Count) {
      const unsigned live = __ballot_sync(group, mine && !list.cached);
      if (mine && !list.cached) count_request(counts, live, list.ids + i);
    }
    id[s] = mine ? read_once(list.ids + i) : -1;
  }
  Index found = -1;
#pragma unroll
  for (int s = 0; s < sectors; ++s)
    if (id[s] >= 0 && hit(id[s])) found = id[s];
  const unsigned hits = __ballot_sync(group, found >= 0);
  return hits ? __shfl_sync(group, found, __ffs(int(hits)) - 1) : -1;
}

/// Searches list.ids[begin, end) for an entry with hit(id), and returns it, or -1. kProbe neighbouring lanes, whose mask is
/// `group`, call it with the same list. They read one sector of 32 bytes at a time, and after kNarrow sectors kWide at a time.
/// They stop before a step unless may(sectors) returns true, which all of them call with what it reads; and after the first step that
/// finds an entry, or after which done() returns true. Most lists answer in the first sectors. A long list that does not is a chain
/// of waits for the link, which wide steps shorten.
template <bool Count, class F, class M, class D>
__device__ Index probe(const List& list, unsigned group, LinkCounts* counts, F&& hit, M&& may, D&& done) {
  constexpr int kNarrow = 4, kWide = 8;
  const Offset skew =
      Offset(reinterpret_cast<std::uintptr_t>(list.ids + list.begin) / sizeof(Index) % kProbe);
  Offset base = list.begin - skew;
  for (int step = 0; base < list.end; ++step) {
    const int sectors = step < kNarrow ? 1 : kWide;
    const auto last = (list.end - base + kProbe - 1) / kProbe;
    if (!may(int(min(Offset(sectors), last)))) return -1;
    const Index found = step < kNarrow ? probe_step<Count, 1>(list, base, group, counts, hit)
                                       : probe_step<Count, kWide>(list, base, group, counts, hit);
    base += sectors * kProbe;
    const bool stops = done();
    if (found >= 0) return found;
    if (stops) return -1;
  }
  return -1;
}
/// Whether a vertex's whole list is in the sample; its last slot tells.
__device__ inline bool is_whole(std::uint32_t last_slot) { return (last_slot & kWholeList) != 0; }
/// The vertex of a slot, or -1.
__device__ inline Index sampled(std::uint32_t slot) {
  const std::uint32_t id = slot & kNoVertex;
  return id == kNoVertex ? -1 : Index(id);
}
/// Four slots of v, beginning with slot 4 * part.
__device__ inline uint4 sample_of(const ListView& g, Index v, int part) {
  return __ldg(reinterpret_cast<const uint4*>(g.sample + std::int64_t(v) * g.sample_size) + part);
}

/// Calls f.operator()<A>() with the policy as a constant, of those that read lists as they are. Throws for `packed`.
template <class F>
void with_access(Access access, F&& f) {
  switch (access) {
    case Access::strided: return f.template operator()<Access::strided>();
    case Access::merged: return f.template operator()<Access::merged>();
    case Access::aligned: return f.template operator()<Access::aligned>();
    case Access::direct: return f.template operator()<Access::direct>();
    case Access::packed: break;
  }
  throw Error(Errc::invalid_argument, "this traversal does not read packed lists");
}
/// The same with `packed`.
template <class F>
void with_any_access(Access access, F&& f) {
  if (access == Access::packed) return f.template operator()<Access::packed>();
  with_access(access, f);
}

}  // namespace penstock::gpu
