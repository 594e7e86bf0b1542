// Vertices look around on a GPU: a hash table of the communities in reach, in shared memory for a warp or a block, in global
// memory for long lists (Naim, Manne, Halappanavar, Tumeo 2017, section 4).
#include "penstock/graph/community/device_level_gpu.cuh"
#include "penstock/kernel/structure/entry_steps.hpp"

namespace penstock::community::on_gpu {
namespace {

using Wide = unsigned long long;

/// Those of `some` whose round it is, of as many as a block tests at once.
template <int Batch>
__device__ int choose_batch(const DeviceMoves& m, const MoveRule& rule, int round, const Index* some,
                            std::int64_t first, std::int64_t count, Index* chosen, int* number) {
  if (threadIdx.x == 0) *number = 0;
  __syncthreads();
  const auto i = first + threadIdx.x;
  if (threadIdx.x < Batch && i < count) {
    const Index v = some[i];
    if (m.looks_at(rule, v) && round_of(v, rule) == round) chosen[atomicAdd(number, 1)] = v;
  }
  __syncthreads();
  return *number;
}

template <Access A, class Sum, int MostLog>
__global__ void __launch_bounds__(kThreads)
    look_by_warps(DeviceMoves m, MoveRule rule, int round, const Index* some, std::int64_t count) {
  __shared__ Index all_keys[kWarps << MostLog];
  __shared__ Sum all_sums[kWarps << MostLog];
  __shared__ Index chosen[kThreads];
  __shared__ int number;
  __shared__ BlockMoves moves;
  const int warp = int(threadIdx.x / 32), lane = int(threadIdx.x & 31);
  Index* const keys = all_keys + (warp << MostLog);
  Sum* const sums = all_sums + (warp << MostLog);
  for (auto first = std::int64_t(blockIdx.x) * kThreads; first < count;
       first += std::int64_t(gridDim.x) * kThreads) {
    const int here = choose_batch<kThreads>(m, rule, round, some, first, count, chosen, &number);
    moves.begin();
    for (int k = warp; k < here; k += kWarps) {
      const auto v = looked_at(m, chosen[k]);
      const auto edges = m.lists.size_of(v.vertex);
      const int log = log_slots_for(edges);
      for (int s = lane; s < 1 << log; s += 32) keys[s] = -1, sums[s] = 0;
      __syncwarp();
      if (lane == 0) keys[home_of(v.own, log)] = v.own;
      __syncwarp();
      walk_part<A>(m.lists, v.vertex, 0, edges, [&](Offset, Index u, std::int64_t w) {
        if (m.reaches(v.vertex, u)) insert(keys, sums, log, m.labels[u], Sum(w));
      });
      __syncwarp();
      auto found = best_in_table(m, rule, v, keys, sums, 1 << log, lane, 32);
      found.join_lanes();
      if (lane == 0) moves.add(m, rule, v, found);
      __syncwarp();
    }
    moves.end(m, round);
  }
}

/// What the warps of a block have found, as one of its threads sees it when all are done.
__device__ Best join_warps(Best mine) {
  __shared__ Best of_warp[kWarps];
  mine.join_lanes();
  if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) {
    if (w == int(threadIdx.x / 32)) continue;
    mine.stay += of_warp[w].stay;
    if (is_better(of_warp[w].best, mine.best)) mine.best = of_warp[w].best;
  }
  __syncthreads();
  return mine;
}

constexpr int kBlockBatch = 16;
template <Access A>
inline constexpr Offset kWarpPart = A == Access::packed ? kHubPiece : 128;

template <Access A, class Sum, int MostLog>
__global__ void __launch_bounds__(kThreads)
    look_by_blocks(DeviceMoves m, MoveRule rule, int round, const Index* some, std::int64_t count) {
  __shared__ Index keys[1 << MostLog];
  __shared__ Sum sums[1 << MostLog];
  __shared__ Index chosen[kBlockBatch];
  __shared__ int number;
  __shared__ BlockMoves moves;
  const int warp = int(threadIdx.x / 32);
  for (auto first = std::int64_t(blockIdx.x) * kBlockBatch; first < count;
       first += std::int64_t(gridDim.x) * kBlockBatch) {
    const int here = choose_batch<kBlockBatch>(m, rule, round, some, first, count, chosen, &number);
    moves.begin();
    for (int k = 0; k < here; ++k) {
      const auto v = looked_at(m, chosen[k]);
      const auto edges = m.lists.size_of(v.vertex);
      const int log = log_slots_for(edges);
      for (int s = int(threadIdx.x); s < 1 << log; s += kThreads)
        keys[s] = s == int(home_of(v.own, log)) ? v.own : -1, sums[s] = 0;
      __syncthreads();
      for (Offset part = warp * kWarpPart<A>; part < edges; part += kWarps * kWarpPart<A>)
        walk_part<A>(m.lists, v.vertex, part, min(edges, part + kWarpPart<A>),
                     [&](Offset, Index u, std::int64_t w) {
                       if (m.reaches(v.vertex, u)) insert(keys, sums, log, m.labels[u], Sum(w));
                     });
      __syncthreads();
      const auto found =
          join_warps(best_in_table(m, rule, v, keys, sums, 1 << log, int(threadIdx.x), kThreads));
      if (threadIdx.x == 0) moves.add(m, rule, v, found);
      __syncthreads();
    }
    moves.end(m, round);
  }
}

/// Calls f(number of the hub, v, first, last) for each piece of the hubs' lists, by a warp.
template <class F>
__device__ void each_piece(const DeviceLists& lists, const DeviceHubs& hubs, F&& f) {
  const auto warps = std::int64_t(gridDim.x) * kWarps;
  for (auto p = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; p < hubs.pieces; p += warps) {
    const auto h = row_of_entry(hubs.first_piece, hubs.count, p);
    const Index v = hubs.vertices[h];
    const Offset first = (p - hubs.first_piece[h]) * kHubPiece;
    f(h, v, first, min(lists.size_of(v), first + kHubPiece));
  }
}

template <Access A>
__global__ void __launch_bounds__(kThreads) fill_hub_tables(DeviceMoves m, MoveRule rule, DeviceHubs hubs) {
  each_piece(m.lists, hubs, [&](std::int64_t h, Index v, Offset first, Offset last) {
    if (!m.looks_at(rule, v)) return;
    const auto at = hubs.table[h];
    const int log = 63 - __clzll(hubs.table[h + 1] - at);
    auto* const sums = reinterpret_cast<Wide*>(hubs.sums + at);
    if (first == 0 && (threadIdx.x & 31) == 0) insert(hubs.keys + at, sums, log, m.labels[v], Wide(0));
    walk_part<A>(m.lists, v, first, last, [&](Offset, Index u, std::int64_t w) {
      if (m.reaches(v, u)) insert(hubs.keys + at, sums, log, m.labels[u], Wide(w));
    });
  });
}

__global__ void __launch_bounds__(kThreads)
    choose_for_hubs(DeviceMoves m, MoveRule rule, int round, DeviceHubs hubs) {
  __shared__ BlockMoves moves;
  for (auto h = std::int64_t(blockIdx.x); h < hubs.count; h += gridDim.x) {
    const auto v = looked_at(m, hubs.vertices[h]);
    const bool waits = m.looks_at(rule, v.vertex);
    moves.begin();
    if (threadIdx.x == 0) hubs.moves[h] = 0;
    if (waits) {
      const auto at = hubs.table[h];
      const auto found = join_warps(best_in_table(m, rule, v, hubs.keys + at, hubs.sums + at,
                                                  hubs.table[h + 1] - at, int(threadIdx.x), kThreads));
      if (threadIdx.x == 0) hubs.moves[h] = moves.add(m, rule, v, found);
    }
    moves.end(m, round);
  }
}

}  // namespace

void look(const DeviceMoves& m, const MoveRule& rule, int round, const Index* some, std::int64_t count,
          int size_class, Stream stream) {
  if (count == 0) return;
  const UseDevice use(stream.where);
  const auto blocks = std::min(gpu::full_grid(stream) * 4, gpu::blocks_for(count));
  const auto with_sums = [&]<Access A, class Sum>() {
    if (size_class == 0)
      gpu::launch(look_by_warps<A, Sum, most_log_slots(0)>, blocks, stream, m, rule, round, some, count);
    else if (size_class == 1)
      gpu::launch(look_by_warps<A, Sum, most_log_slots(1)>, blocks, stream, m, rule, round, some, count);
    else
      gpu::launch(look_by_blocks<A, Sum, most_log_slots(2)>,
                  std::min(gpu::full_grid(stream) * 4, (count + kBlockBatch - 1) / kBlockBatch), stream, m,
                  rule, round, some, count);
  };
  with_lists(m.lists, [&]<Access A>() {
    if (A == Access::packed || m.lists.kind == WeightKind::none) with_sums.template operator()<A, unsigned>();
    else if constexpr (A != Access::packed) with_sums.template operator()<A, Wide>();
  });
}

void look_at_hubs(const DeviceMoves& m, const MoveRule& rule, int round, const DeviceHubs& hubs,
                  Stream stream) {
  if (hubs.count == 0) return;
  const UseDevice use(stream.where);
  with_lists(m.lists, [&]<Access A>() {
    gpu::launch(fill_hub_tables<A>, std::min(gpu::full_grid(stream), gpu::blocks_for(hubs.pieces * 32)),
                stream, m, rule, hubs);
  });
  gpu::launch(choose_for_hubs, std::min(gpu::full_grid(stream), hubs.count), stream, m, rule, round, hubs);
}

namespace {

__global__ void __launch_bounds__(kThreads) commit_moves(DeviceMoves m, int round) {
  const auto count = m.counts->moved[round];
  for (auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += std::int64_t(gridDim.x) * kThreads) {
    const Index v = m.moved[i], to = m.wanted[i], own = m.labels[v];
    const auto degree = static_cast<Wide>(m.degree[v]);
    atomicAdd(reinterpret_cast<Wide*>(m.total + own), Wide(0) - degree);
    atomicAdd(reinterpret_cast<Wide*>(m.total + to), degree);
    atomicAdd(reinterpret_cast<Wide*>(m.members + own), ~Wide(0));
    atomicAdd(reinterpret_cast<Wide*>(m.members + to), Wide(1));
    m.labels[v] = to;
    if (m.within) m.waiting[v] = m.joined_in(round);
  }
}

/// What follows from the move of v, by a warp with a part of its list.
template <Access A, bool Refines>
__device__ void follow(const DeviceMoves& m, int round, Index v, Offset first, Offset last) {
  const Index own = m.labels[v];
  if constexpr (Refines) {
    const bool leads = (threadIdx.x & 31) == 0;
    Wide sum = leads && first == 0 ? static_cast<Wide>(m.outward[v]) : Wide(0);
    walk_part<A>(m.lists, v, first, last, [&](Offset, Index u, std::int64_t w) {
      sum -= static_cast<Wide>(m.inward(round, v, u, w));
    });
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(kAll, sum, d);
    if (leads) atomicAdd(reinterpret_cast<Wide*>(m.outward + own), sum);
  } else {
    walk_part<A>(m.lists, v, first, last, [&](Offset, Index u, std::int64_t) {
      if (m.labels[u] != own) m.waiting[u] = 1;
    });
  }
}

template <Access A, bool Refines>
__global__ void __launch_bounds__(kThreads) wake_neighbours(DeviceMoves m, int round) {
  const auto count = m.counts->moved[round], warps = std::int64_t(gridDim.x) * kWarps;
  for (auto i = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; i < count; i += warps) {
    const Index v = m.moved[i];
    const auto edges = m.lists.size_of(v);
    if (class_of(edges) == kClasses - 1) continue;  // wake_around_hubs
    follow<A, Refines>(m, round, v, 0, edges);
  }
}

template <Access A, bool Refines>
__global__ void __launch_bounds__(kThreads) wake_around_hubs(DeviceMoves m, int round, DeviceHubs hubs) {
  each_piece(m.lists, hubs, [&](std::int64_t h, Index v, Offset first, Offset last) {
    if (hubs.moves[h] != 0) follow<A, Refines>(m, round, v, first, last);
  });
}

}  // namespace

void commit(const DeviceMoves& m, int round, Stream stream) {
  const UseDevice use(stream.where);
  gpu::launch(commit_moves, std::min(gpu::full_grid(stream), gpu::blocks_for(m.vertices)), stream, m, round);
}

void wake(const DeviceMoves& m, int round, Stream stream) {
  const UseDevice use(stream.where);
  const auto blocks = std::min(gpu::full_grid(stream), gpu::blocks_for(m.vertices * 32));
  with_lists(m.lists, [&]<Access A>() {
    gpu::launch(m.within ? wake_neighbours<A, true> : wake_neighbours<A, false>, blocks, stream, m, round);
  });
}

void wake_of_hubs(const DeviceMoves& m, int round, const DeviceHubs& hubs, Stream stream) {
  if (hubs.count == 0) return;
  const UseDevice use(stream.where);
  const auto blocks = std::min(gpu::full_grid(stream), gpu::blocks_for(hubs.pieces * 32));
  with_lists(m.lists, [&]<Access A>() {
    gpu::launch(m.within ? wake_around_hubs<A, true> : wake_around_hubs<A, false>, blocks, stream, m, round,
                hubs);
  });
}

}  // namespace penstock::community::on_gpu
