// Finds many small levels in one kernel, whose blocks meet at a barrier after each level. A road network has thousands of
// levels of some thousand vertices; for each of them a launch and a look from the host would take longer than the level
// itself. The frontier is a queue without an order, which costs little while it is small.
#include <cooperative_groups.h>

#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_visit_gpu.cuh"

namespace penstock::gpu {
namespace {

struct Queue {
  const BfsState& s;
  Index* next;
  SmallCounts* count;
  Index depth;  // of the vertices that are reached now
  const ListView& g;
  unsigned long long long_edges = 0;  // of the vertices that this thread has pushed
  Index longest = 0;                  // of their lists

  /// Reaches u from v. Returns whether this call was the first to do so.
  __device__ bool claim(Index u, Index v) const {
    const Bits bit = Bits(1) << (u & 31);
    if (atomicOr(&s.visited[u >> 5], bit) & bit) return false;
    s.levels[u] = depth;
    if (s.parents) s.parents[u] = v;
    return true;
  }
  /// Threads that push at once reserve their places by one atomic operation.
  __device__ void push(Index u) {
    const auto here = cooperative_groups::coalesced_threads();
    Index at = 0;
    if (here.thread_rank() == 0) at = atomicAdd(&count->size, Index(here.size()));
    next[here.shfl(at, 0) + Index(here.thread_rank())] = u;
    const Offset degree = degree_of(g, u);
    if (degree <= g.sample_size) return;
    long_edges += static_cast<unsigned long long>(degree);
    if (degree > longest) longest = Index(degree);
  }
  /// Adds up what the lanes of a warp have pushed; all of them call it at the end of a level.
  __device__ void finish() {
    for (int d = 16; d > 0; d /= 2) long_edges += __shfl_down_sync(kAll, long_edges, d);
    longest = Index(max_warp(unsigned(longest)));
    if ((threadIdx.x & 31) != 0 || long_edges == 0) return;
    atomicAdd(&count->long_edges, long_edges);
    if (longest > kSmallList) atomicMax(&count->longest, longest);
  }
};

/// For walks of many lists.
struct Claim {
  Queue& q;
  Index from = 0;

  __device__ void begin(Index v) { from = v; }
  __device__ void operator()(Index u) {
    if (q.claim(u, from)) q.push(u);
  }
  __device__ void end(Index, int) {}
};

template <Access A, bool Count>
__device__ void small_level(const ListView& g, Queue& q, const Index* now, Index size) {
  const int lane = int(threadIdx.x & 31);
  const auto warps = Index(gridDim.x * (kThreads / 32));
  const auto warp = Index(blockIdx.x * (kThreads / 32) + threadIdx.x / 32);
  Index at_once = (size + warps - 1) / warps;
  if (at_once > 32 || A == Access::strided) at_once = 32;
  for (Index first = warp * at_once; first < size; first += warps * at_once) {
    const bool mine = lane < at_once && first + lane < size;
    const Index v = mine ? __ldcg(&now[first + lane]) : 0;
    bool read = mine;
    if (!(kTogether<A, Count> && q.s.near) && mine && g.sample_size > 0) {
      const int parts = g.sample_size / 4;
      if (is_whole(sample_of(g, v, parts - 1).w)) {
        read = false;
        for (int part = 0; part < parts; ++part) {
          const uint4 four = sample_of(g, v, part);
          bool won[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {  // four atomic operations are under way at once
            const Index u = sampled(slot(four, i));
            won[i] = u >= 0 && q.claim(u, v);
          }
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (won[i]) q.push(sampled(slot(four, i)));
        }
      }
    }
    ListOf<A> list;
    if (read) list = list_of<A>(g, v);
    if constexpr (kTogether<A, Count>) {
      walk_as_one<A>(g, list, v, q.s.parents != nullptr, [&](Index u, Index from) {
        if (q.claim(u, from)) q.push(u);
      });
    } else if constexpr (A == Access::packed) {
      walk_packed<Count>(g, list, Claim{q});
    } else if constexpr (A == Access::strided) {
      walk<A, Count>(list, g.counts, [&](Offset, Index u) {
        if (q.claim(u, v)) q.push(u);
      });
    } else {
      for (unsigned left = __ballot_sync(kAll, list.size() > 0); left != 0; left &= left - 1) {
        const int owner = __ffs(int(left)) - 1;
        const Index from = __shfl_sync(kAll, v, owner);
        walk<A, Count>(from_lane(list, owner), g.counts, [&](Offset, Index u) {
          if (q.claim(u, from)) q.push(u);
        });
      }
    }
  }
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads, 2) run_small(ListView g, BfsState s, Index size, Index depth) {
  auto grid = cooperative_groups::this_grid();
  const auto me = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto threads = std::int64_t(gridDim.x) * kThreads;
  Index* now = s.list;
  Index* next = s.open_list;
  Index reached = 0;
  for (int turn = 0;; turn = (turn + 1) % 3) {
    SmallCounts* count = &s.small[turn];
    // It was last read before the barrier that all blocks have passed.
    if (me == 0) s.small[(turn + 1) % 3] = SmallCounts{};
    Queue queue{s, next, count, depth + 1, g};
    small_level<A, Count>(g, queue, now, size);
    queue.finish();
    grid.sync();
    size = __ldcg(&count->size);
    const auto long_edges = std::int64_t(__ldcg(&count->long_edges));
    const auto longest = std::int64_t(__ldcg(&count->longest));
    if (size > 0) ++depth;
    reached += size;
    Index* const other = now;
    now = next, next = other;
    if (size == 0 || !is_small(size, long_edges, s.near, longest)) break;
  }
  if (me == 0) s.counts->depth = depth, s.counts->frontier = size, s.counts->reached = reached;
  if (size == 0) return;
  // next_frontier() lists the vertices that are in `visited` and not in `before`.
  for (auto w = me; w < s.words; w += threads) s.before[w] = __ldcg(&s.visited[w]);
  grid.sync();
  for (auto i = me; i < size; i += threads) {
    const Index v = __ldcg(&now[i]);
    atomicAnd(&s.before[v >> 5], ~(Bits(1) << (v & 31)));
  }
}

}  // namespace

void small_levels(const ListView& g, const BfsState& s, Index frontier, Index depth, Access access,
                  bool count, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(s.small, 0, 3 * std::int64_t(sizeof(SmallCounts)), stream);
  with_any_access(access, [&]<Access A>() {
    launch_meeting(count ? run_small<A, true> : run_small<A, false>, stream, g, s, frontier, depth);
  });
}

}  // namespace penstock::gpu
