#pragma once
#include "penstock/graph/sssp/sssp_lists_gpu.cuh"

// What kernels do with an edge: relax it from either end, or check whether it is on a shortest path.
namespace penstock::gpu {

template <class D, class W>
__device__ D longer_by(D from, [[maybe_unused]] W weight) {
  if constexpr (is_pattern<W>) return from + D(1);
  else if constexpr (std::is_same_v<W, PackedLength>) return from + D(weight.value);
  else return from + D(weight);
}

/// Lowers v's distance to `key` if that is less, and makes v pending.
template <class D>
__device__ void lower_pending(const PathState<D>& s, Index v, Key<D> key) {
  if (!(key < atomicMin(&s.distances[v], key))) return;
  const Bits bit = Bits(1) << (v & 31);
  Bits* const word = &s.pending[v >> 5];
  if (!(__ldcg(word) & bit)) atomicOr(word, bit);  // cleared by other kernels only
}

/// The steps of PathStep, which all lanes share.
template <class D>
struct Edges {
  using K = Key<D>;
  static constexpr K kNone = kNoPath<D>;
  PathState<D> s;
  PathStep step;
  D limit;

  template <int N, class W>
  __device__ void take(const Index (&id)[N], const W (&weight)[N], const Index (&owner)[N],
                       const K (&from)[N], K (&found)[N]) const {
    K now[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      found[i] = kNone;
      now[i] = id[i] >= 0 ? __ldcg(&s.distances[id[i]]) : kNone;
    }
    switch (step) {
      case PathStep::push:
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const D far = longer_by(length_of<D>(from[i]), weight[i]);
          if (id[i] < 0 || !(key_of(far) < now[i])) continue;
          if (far > limit) s.counts->out_of_range = 1;
          else lower_pending(s, id[i], key_of(far));
        }
        break;
      case PathStep::pull:
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const D far = longer_by(length_of<D>(now[i]), weight[i]);
          if (now[i] == kNone || !(key_of(far) < from[i])) continue;
          if (far > limit) s.counts->out_of_range = 1;
          else found[i] = key_of(far);
        }
        break;
      case PathStep::tight:
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const K far = key_of(longer_by(length_of<D>(from[i]), weight[i]));
          if (now[i] == kNone || far != now[i]) continue;
          if (from[i] < far) atomicMin(&s.tree[id[i]], owner[i]);
          else if (id[i] != owner[i]) s.counts->changed = 1;
        }
        break;
      case PathStep::level:
#pragma unroll
        for (int i = 0; i < N; ++i) {
          // There is no entry. The `from` of an idle lane is no distance either.
          if (id[i] < 0 || now[i] != from[i]) continue;
          if (key_of(longer_by(length_of<D>(from[i]), weight[i])) != from[i]) continue;
          const Bits bit = Bits(1) << (id[i] & 31);
          if (s.pending[id[i] >> 5] & bit) continue;  // it has a predecessor
          atomicMin(&s.tree[id[i]], owner[i]);
          atomicOr(&s.front[id[i] >> 5], bit);
        }
        break;
    }
  }

  /// Whether a vertex at distance `own` takes part where all are asked.
  __device__ bool concerns(K own, K beyond) const {
    if (step == PathStep::pull) return own > beyond;
    return step != PathStep::tight || own != kNone;
  }
};

}  // namespace penstock::gpu
