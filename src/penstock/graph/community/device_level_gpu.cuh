#pragma once
#include "penstock/graph/community/device_level.hpp"
#include "penstock/graph/gpu/lists_gpu.cuh"

// What the kernels of device_level.hpp share.
namespace penstock::community {

inline constexpr int kWarps = gpu::kThreads / 32;
using gpu::kAll;
using gpu::kThreads;

/// Calls f(number of the entry, u, weight) for entries [first, last) of v's list, by the lanes of a warp; of packed lists first is a
/// multiple of kPackedPiece.
template <Access A, class F>
__device__ void walk_part(const DeviceLists& g, Index v, Offset first, Offset last, F&& f) {
  auto list = gpu::list_of<A>(g.view, v);
  const auto begin = list.begin;
  list.end = begin + last, list.begin = begin + first;
  if constexpr (A == Access::packed) {
    gpu::walk<A, false>(g.view, list, [&](Offset k, Index u) { f(k, u, std::int64_t{1}); });
  } else {
    gpu::walk<A, false>(list, nullptr, [&](Offset k, Index u) { f(k - begin, u, g.units(k)); });
  }
}

/// Adds w to community c in a table that threads share.
template <class Sum>
__device__ void insert(Index* keys, Sum* sums, int log_slots, Index c, Sum w) {
  const auto mask = (1u << log_slots) - 1;
  for (auto at = home_of(c, log_slots);; at = (at + 1) & mask) {
    Index there = static_cast<volatile Index*>(keys)[at];
    if (there == -1 && (there = atomicCAS(keys + at, -1, c)) == -1) there = c;
    if (there != c) continue;
    atomicAdd(sums + at, w);
    return;
  }
}

/// What the lanes of a warp, or the threads of a block, have found; all of a warp's lanes get the same.
struct Best {
  Candidate best;
  double stay = 0;  // what the own community is worth

  __device__ void see(const Candidate& one, Index own) {
    if (one.to == own) stay = one.worth;
    if (is_better(one, best)) best = one;
  }
  __device__ void join_lanes() {
    for (int d = 16; d > 0; d /= 2) {
      Candidate other;
      other.worth = __shfl_xor_sync(kAll, best.worth, d);
      other.lot = __shfl_xor_sync(kAll, static_cast<unsigned long long>(best.lot), d);
      other.to = __shfl_xor_sync(kAll, best.to, d);
      stay += __shfl_xor_sync(kAll, stay, d);  // of the others it is 0
      if (is_better(other, best)) best = other;
    }
  }
};
template <class Sum>
__device__ Best best_in_table(const DeviceMoves& m, const MoveRule& rule, const Looked& v, const Index* keys,
                              const Sum* sums, std::int64_t slots, int rank, int threads) {
  Best found;
  for (std::int64_t s = rank; s < slots; s += threads)
    if (const Index c = keys[s]; c >= 0)
      found.see(m.offer(rule, v, c, static_cast<std::int64_t>(sums[s])), v.own);
  return found;
}
__device__ inline Looked looked_at(const DeviceMoves& m, Index v) { return {v, m.labels[v], m.degree[v]}; }

/// The moves of a block, listed together: a few counters of all blocks would be in the way of all.
struct BlockMoves {
  static constexpr int kMost = kThreads;
  int count;
  unsigned long long gain;
  Index vertex[kMost], to[kMost];

  /// One thread says what was found for v. Returns whether it moves.
  __device__ bool add(const DeviceMoves& m, const MoveRule& rule, const Looked& v, const Best& found) {
    const Index to_community = found.best.to;
    const bool elsewhere = to_community != v.own;
    const bool refused =
        elsewhere && may_swap(rule, v, to_community, m.members[v.own], m.members[to_community]);
    if (!m.all && !refused) m.waiting[v.vertex] = 0;
    if (!elsewhere || refused) return false;
    const int at = atomicAdd(&count, 1);
    vertex[at] = v.vertex, to[at] = to_community;
    atomicAdd(&gain, static_cast<unsigned long long>(gain_units(2 * (found.best.worth - found.stay))));
    return true;
  }
  /// All threads of the block call these.
  __device__ void begin() {
    if (threadIdx.x == 0) count = 0, gain = 0;
    __syncthreads();
  }
  __device__ void end(const DeviceMoves& m, int round) {
    __shared__ unsigned long long first;
    __syncthreads();
    if (threadIdx.x == 0 && count > 0) {
      first = atomicAdd(reinterpret_cast<unsigned long long*>(&m.counts->moved[round]),
                        static_cast<unsigned long long>(count));
      atomicAdd(reinterpret_cast<unsigned long long*>(&m.counts->gain), gain);
    }
    __syncthreads();
    for (int i = int(threadIdx.x); i < count; i += kThreads)
      m.moved[first + i] = vertex[i], m.wanted[first + i] = to[i];
    __syncthreads();
  }
};

/// Calls f.operator()<A>() for the lists at hand.
template <class F>
void with_lists(const DeviceLists& lists, F&& f) {
  if (lists.view.offsets) f.template operator()<Access::aligned>();
  else f.template operator()<Access::packed>();
}

}  // namespace penstock::community
