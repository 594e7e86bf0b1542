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

/// `far`: whether edges of lists that are not on the GPU are counted.
template <bool far>
__global__ void __launch_bounds__(kThreads) list_new(ListView g, BfsState s, Index depth) {
  const unsigned lane = threadIdx.x & 31;
  unsigned long long edges = 0, long_edges = 0, link_edges = 0, far_edges = 0;
  Index far_lists = 0;
  visit_bits(s.own_front, s.words, s.starts, [&](std::int64_t w, Bits word, Index position) {
    if (!(word >> lane & 1)) return;
    const auto v = Index(w * 32 + lane);
    s.list[position + __popc(word & ((1u << lane) - 1))] = v;
    s.levels[v] = depth;
    const Offset degree = degree_of(g, v);
    edges += static_cast<unsigned long long>(degree);
    if (degree > g.sample_size) {
      const bool cached = g.list_begin && g.list_begin[v] < 0;
      long_edges += static_cast<unsigned long long>(degree);
      link_edges += static_cast<unsigned long long>(cached ? degree / kCachedCost : degree);
      if constexpr (far)
        if (!g.packed.heads         ? !cached
            : degree > kPackedWhole ? !packed_list(g.packed, v).near
                                    : packed_far(g.packed, v))
          far_edges += static_cast<unsigned long long>(degree), ++far_lists;
    }
    if (degree > kSegment) cut(s.segments, v, degree, &s.counts->segments);
  });
  for (int d = 16; d > 0; d /= 2) {
    edges += __shfl_down_sync(kAll, edges, d);
    long_edges += __shfl_down_sync(kAll, long_edges, d);
    link_edges += __shfl_down_sync(kAll, link_edges, d);
    if constexpr (far) {
      far_edges += __shfl_down_sync(kAll, far_edges, d);
      far_lists += __shfl_down_sync(kAll, far_lists, d);
    }
  }
  if (lane == 0 && edges) atomicAdd(&s.counts->edges, edges);
  if (lane == 0 && long_edges) atomicAdd(&s.counts->long_edges, long_edges);
  if (lane == 0 && link_edges) atomicAdd(&s.counts->link_edges, link_edges);
  if (lane == 0 && far_edges) atomicAdd(&s.counts->far_edges, far_edges);
  if (lane == 0 && far_lists) atomicAdd(&s.counts->far_lists, far_lists);
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
  launch(find_new, blocks, stream, s);
  scan(s.starts, blocks, &s.counts->frontier, stream);
  launch(far ? list_new<true> : list_new<false>, blocks, stream, g, s, depth);
}

}  // namespace penstock::gpu
