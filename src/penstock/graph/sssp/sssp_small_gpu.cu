// Many small windows in one kernel: the blocks stay, and meet at a barrier after each step. On a road network a window holds
// some thousand vertices and there are thousands of them; launches and looks from the host would take longer than the work.
//
// The near and far piles (Davidson, Baxter, Garland, Owens, IPDPS 2014) are queues in no order, and the bitmap of pending
// vertices is the truth. A vertex is pushed to the near pile when it becomes pending in the window, or when it comes into the
// window; it is pushed to the far pile when it becomes pending behind the window. Entries whose vertex is no longer pending
// are skipped. If a pile overflows, entries are dropped and the kernel ends: the bitmap still has all of them.
#include <cooperative_groups.h>

#include "penstock/graph/sssp/sssp_edges_gpu.cuh"
#include "penstock/graph/sssp/sssp_gpu_rule.hpp"

namespace penstock::gpu {
namespace {

template <class D>
struct SmallRun {
  PathState<D> s;
  SmallPaths piles;
  D limit;
};

/// Lowers vertices and puts them into piles.
template <class D>
struct SmallEdges {
  using K = Key<D>;
  static constexpr K kNone = kNoPath<D>;
  const ListView& g;
  const SmallRun<D>& run;
  K end;  // the end of the window
  Index* near;
  Index* far;
  Index far_size;  // the size of the far pile before this step
  SmallTurn* turn;

  __device__ void push_near(Index v) const {
    const Index at = atomicAdd(&turn->near, 1);
    if (at < kSmallNear) near[at] = v;
    const Offset degree = degree_of(g, v);
    atomicAdd(&turn->edges, static_cast<unsigned long long>(degree));
    if (degree > kSmallDegree) turn->heavy = 1;
  }
  __device__ void push_far(Index v) const {
    const Index at = far_size + atomicAdd(&turn->far, 1);
    if (at < kSmallFar) far[at] = v;
  }
  __device__ void lower(Index v, K key) const {
    const K before = atomicMin(&run.s.distances[v], key);
    if (!(key < before)) return;
    __threadfence();  // a thread that clears the bit afterwards sees the new distance
    const Bits bit = Bits(1) << (v & 31);
    const bool was_pending = (atomicOr(&run.s.pending[v >> 5], bit) & bit) != 0;
    if (key < end) {
      if (!was_pending || !(before < end)) push_near(v);
    } else if (!was_pending) {
      push_far(v);
    }
  }

  template <int N, class W>
  __device__ void take(const Index (&id)[N], const W (&weight)[N], const Index (&)[N], const K (&from)[N],
                       K (&found)[N]) const {
    K now[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      found[i] = kNone;
      now[i] = id[i] >= 0 ? __ldcg(&run.s.distances[id[i]]) : kNone;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const D far = longer_by(length_of<D>(from[i]), weight[i]);
      if (id[i] < 0 || !(key_of(far) < now[i])) continue;
      if (far > run.limit) run.s.counts->out_of_range = 1;
      else lower(id[i], key_of(far));
    }
  }
};

template <class D>
__device__ bool is_pending(const PathState<D>& s, Index v) {
  return (__ldcg(&s.pending[v >> 5]) >> (v & 31) & 1) != 0;
}

/// Relaxes the vertices of the near pile, each once: the thread that clears a vertex's bit does it.
template <Access A, bool Count, class D, class W>
__device__ void relax_near(const ListView& g, const WeightView<W>& weights, const SmallEdges<D>& e,
                           const Index* now, Index size, Key<D>* best) {
  const int lane = int(threadIdx.x & 31);
  const auto warps = Index(gridDim.x * kWarps);
  const auto warp = Index(blockIdx.x * kWarps + threadIdx.x / 32);
  const Index share = (size + warps - 1) / warps, at_once = share < 32 ? share : 32;
  for (Index first = warp * at_once; first < size; first += warps * at_once) {
    Index v = 0;
    Key<D> own = kNoPath<D>;
    ListOf<A> mine;
    if (lane < at_once && first + lane < size) {
      v = __ldcg(&now[first + lane]);
      const Bits bit = Bits(1) << (v & 31);
      if (atomicAnd(&e.run.s.pending[v >> 5], ~bit) & bit) {
        __threadfence();
        own = __ldcg(&e.run.s.distances[v]);
        mine = list_of<A>(g, v);
      }
    }
    walk_lanes<A, Count>(g, weights, e, mine, v, own, best);
  }
}

template <class D, class W, bool Count>
__global__ void __launch_bounds__(kThreads, 1)
    run_windows(ListView g, WeightView<W> weights, SmallRun<D> run, Window<D> window, Index far_size) {
  __shared__ Key<D> best[kThreads];
  constexpr auto kPolicy = std::is_same_v<W, PackedLength> ? Access::packed : Access::aligned;
  auto grid = cooperative_groups::this_grid();
  const auto me = Index(blockIdx.x * kThreads + threadIdx.x), threads = Index(gridDim.x * kThreads);
  const SmallPaths& piles = run.piles;
  const PathState<D>& s = run.s;
  Key<D> end = 0;
  Index near_size = 0;
  int now = 0, pile = 0, turn = 0;  // which near pile, far pile, turn
  const auto next_turn = [&] {
    grid.sync();
    const int at = turn;
    turn = (turn + 1) % 3;
    return at;
  };
  // It was last read before the barrier that all blocks have passed.
  const auto clear_next = [&] {
    if (me == 0) piles.turns[(turn + 1) % 3] = SmallTurn{};
  };
  for (;;) {
    if (near_size == 0) {
      clear_next();
      unsigned long long nearest = 0;
      for (Index i = me; i < far_size; i += threads) {
        const Index v = __ldcg(&piles.far[pile][i]);
        if (!is_pending(s, v)) continue;  // it has come near and been relaxed meanwhile
        const auto key = ~static_cast<unsigned long long>(__ldcg(&s.distances[v]));
        nearest = key > nearest ? key : nearest;
      }
      nearest = max_warp(nearest);
      if ((threadIdx.x & 31) == 0 && nearest) atomicMax(&piles.turns[turn].nearest, nearest);
      nearest = __ldcg(&piles.turns[next_turn()].nearest);
      if (nearest == 0) return;
      end = end_of_window<D>(nearest, window.width);
      clear_next();
      const SmallEdges<D> e{g, run, end, piles.near[now], piles.far[1 - pile], 0, &piles.turns[turn]};
      for (Index i = me; i < far_size; i += threads) {
        const Index v = __ldcg(&piles.far[pile][i]);
        if (!is_pending(s, v)) continue;
        if (__ldcg(&s.distances[v]) < end) e.push_near(v);
        else e.push_far(v);
      }
      pile = 1 - pile, far_size = 0;
    } else {
      clear_next();
      const SmallEdges<D> e{g, run, end, piles.near[1 - now], piles.far[pile], far_size, &piles.turns[turn]};
      relax_near<kPolicy, Count>(g, weights, e, piles.near[now], near_size, best);
      now = 1 - now;
    }
    const SmallTurn* done = &piles.turns[next_turn()];
    near_size = __ldcg(&done->near);
    far_size += __ldcg(&done->far);
    if (near_size > kSmallNear || far_size > kSmallFar || __ldcg(&done->heavy) ||
        static_cast<std::int64_t>(__ldcg(&done->edges)) > kSmallPathEdges)
      return;
  }
}

__global__ void __launch_bounds__(kThreads) first_far(SmallPaths piles, const Index* list, Index size) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < size) piles.far[0][i] = list[i];
}

}  // namespace

template <class D, class W>
void small_windows(const ListView& g, const WeightView<W>& weights, const PathState<D>& s,
                   const SmallPaths& small, const Window<D>& window, D limit, Index pending, bool count,
                   Stream stream) {
  const UseDevice use(stream.where);
  fill_async(small.turns, 0, 3 * std::int64_t(sizeof(SmallTurn)), stream);
  launch(first_far, blocks_for(pending), stream, small, s.list, pending);
  const SmallRun<D> run{s, small, limit};
  launch_meeting(count ? run_windows<D, W, true> : run_windows<D, W, false>, stream, g, weights, run, window,
                 pending);
}

#define X(D, W)                                                                                              \
  template void small_windows(const ListView&, const WeightView<W>&, const PathState<D>&, const SmallPaths&, \
                              const Window<D>&, D, Index, bool, Stream);
PENSTOCK_FOR_EACH_SSSP(X)
X(std::uint32_t, PackedLength)
X(float, PackedLength)
X(double, PackedLength)
#undef X

}  // namespace penstock::gpu
