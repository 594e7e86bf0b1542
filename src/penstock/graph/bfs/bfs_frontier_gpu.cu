// The passes of a search over all vertices: they find the vertices without edges, and the new vertices of a level. New
// vertices are found by comparing the bitmap of visited vertices with what it was before. So a step only sets bits, and this
// pass writes levels and lists in order.
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_visit_gpu.cuh"
#include "penstock/graph/gpu/compact_gpu.cuh"

namespace penstock::gpu {
namespace {

__global__ void __launch_bounds__(kThreads) find_edgeless(ListView g, Bits* done, Index* candidates) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const bool alone = v >= g.vertices || degree_of(g, Index(v)) == 0;
  const unsigned word = __ballot_sync(kAll, alone);
  if ((threadIdx.x & 31) == 0 && v < g.vertices) {
    done[v >> 5] = word;
    if (word != kAll) atomicAdd(candidates, __popc(~word));
  }
}

__global__ void __launch_bounds__(kThreads) write_numbers(Index* numbers, std::int64_t n, Index value) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) numbers[i] = value;
}

__global__ void mark_source(BfsState s, Index source) {
  const Bits bit = Bits(1) << (source & 31);
  s.visited[source >> 5] |= bit;
  s.before[source >> 5] &= ~bit;
}

__global__ void __launch_bounds__(kThreads) find_new(BfsState s) {
  count_bits(s.words, s.starts, [=](std::int64_t w) {
    const Bits now = s.visited[w], fresh = now & ~s.before[w];
    s.own_front[w] = fresh;
    if (fresh) s.before[w] = now;
    return fresh;
  });
}

/// What is added up about the vertices of a new frontier.
struct NewSums {
  unsigned long long edges = 0, long_edges = 0, link_edges = 0, far_edges = 0;
  Index far_lists = 0;
};

/// Takes the new vertices of a warp, 32 words from word `first` on: `word` has those of the lane's word. They go to s.list from
/// `position` on. `local`: kWarpBits numbers of shared memory, which gather_bits() has written, `count` of them.
/// `far`: whether edges of lists that are not on the GPU are counted.
template <bool far>
__device__ void take_new(const ListView& g, const BfsState& s, Index depth, std::int64_t first,
                         const std::uint16_t* local, Index count, Index position, NewSums& sums) {
  constexpr int kBatch = 4;  // degrees that are under way at once for each lane
  const int lane = int(threadIdx.x & 31);
  for (Index base = lane; base < count; base += 32 * kBatch) {
    Offset degree[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const Index t = base + 32 * b;
      degree[b] = 0;
      if (t >= count) continue;
      const auto v = Index(first * 32) + local[t];
      s.list[position + t] = v;
      s.levels[v] = depth;
      degree[b] = degree_of(g, v);
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      sums.edges += static_cast<unsigned long long>(degree[b]);
      if (degree[b] <= g.sample_size) continue;
      const auto v = Index(first * 32) + local[base + 32 * b];
      const bool cached = g.list_begin && g.list_begin[v] < 0;
      sums.long_edges += static_cast<unsigned long long>(degree[b]);
      sums.link_edges += static_cast<unsigned long long>(cached ? degree[b] / kCachedCost : degree[b]);
      if constexpr (far)
        if (!g.packed.heads            ? !cached
            : degree[b] > kPackedWhole ? !packed_list(g.packed, v).near
                                       : packed_far(g.packed, v))
          sums.far_edges += static_cast<unsigned long long>(degree[b]), ++sums.far_lists;
      if (degree[b] > kSegment) cut(s.segments, v, degree[b], &s.counts->segments);
    }
  }
}

/// All threads of a block call it.
template <bool far>
__device__ void add_new(BfsCounts* counts, const NewSums& sums) {
  add_block(&counts->edges, sums.edges);
  add_block(&counts->long_edges, sums.long_edges);
  add_block(&counts->link_edges, sums.link_edges);
  if constexpr (far) {
    add_block(&counts->far_edges, sums.far_edges);
    add_block(&counts->far_lists, sums.far_lists);
  }
}

/// Lists the new vertices in the order of their numbers: find_new() has counted them.
template <bool far>
__global__ void __launch_bounds__(kThreads) list_new(ListView g, BfsState s, Index depth) {
  static_assert(kBlockWords == kThreads);
  __shared__ std::uint16_t local[kThreads / 32][kWarpBits];
  const int warp = int(threadIdx.x / 32);
  const auto w = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const Index count = gather_bits(w < s.words ? s.own_front[w] : 0, local[warp]);
  Index all;
  const Index position = s.starts[blockIdx.x] + sum_before_warp(count, &all);
  if (all == 0) return;
  NewSums sums;
  take_new<far>(g, s, depth, w - (threadIdx.x & 31), local[warp], count, position, sums);
  add_new<far>(s.counts, sums);
}

/// The same in one kernel, for lists that are all on the GPU: blocks come in any order, and each lists its vertices in order.
__global__ void __launch_bounds__(kThreads) find_and_list_new(ListView g, BfsState s, Index depth) {
  __shared__ std::uint16_t local[kThreads / 32][kWarpBits];
  __shared__ Index start;
  const int warp = int(threadIdx.x / 32);
  const auto w = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  Bits fresh = 0;
  if (w < s.words) {
    const Bits now = s.visited[w];
    fresh = now & ~s.before[w];
    s.own_front[w] = fresh;
    if (fresh) s.before[w] = now;
  }
  const Index count = gather_bits(fresh, local[warp]);
  Index all;
  const Index before = sum_before_warp(count, &all);
  if (all == 0) return;
  if (threadIdx.x == 0) start = atomicAdd(&s.counts->frontier, all);
  __syncthreads();
  NewSums sums;
  take_new<false>(g, s, depth, w - (threadIdx.x & 31), local[warp], count, start + before, sums);
  add_new<false>(s.counts, sums);
}

}  // namespace

void mark_edgeless(const ListView& g, Bits* done, Index* candidates, Stream stream) {
  const UseDevice use(stream.where);
  launch(find_edgeless, blocks_for(g.vertices), stream, g, done, candidates);
}

void fill_numbers(Index* numbers, std::int64_t n, Index value, Stream stream) {
  const UseDevice use(stream.where);
  launch(write_numbers, blocks_for(n), stream, numbers, n, value);
}

void begin_search(const BfsState& s, Index source, Stream stream) {
  const UseDevice use(stream.where);
  cudaLaunchConfig_t one{};
  one.gridDim = one.blockDim = dim3(1);
  one.stream = static_cast<cudaStream_t>(stream.handle);
  cuda::check(cudaLaunchKernelEx(&one, mark_source, s, source));
}

void next_frontier(const ListView& g, const BfsState& s, Index depth, bool far, Stream stream) {
  const UseDevice use(stream.where);
  const auto blocks = compact_blocks(s.words);
  if (!far && s.near) return launch(find_and_list_new, blocks, stream, g, s, depth);
  launch(find_new, blocks, stream, s);
  scan(s.starts, blocks, &s.counts->frontier, stream);
  launch(far ? list_new<true> : list_new<false>, blocks, stream, g, s, depth);
}

}  // namespace penstock::gpu
