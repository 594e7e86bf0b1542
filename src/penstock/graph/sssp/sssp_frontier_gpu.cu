// Finds the vertices that are relaxed next, by passes over the bitmap of pending vertices in the order of the vertices: the
// nearest pending vertex, the vertices of its window and their edges, the list of them, and the edges of the vertices that
// could pull. Also the passes that the predecessors need.
#include <cstddef>

#include "penstock/graph/gpu/compact_gpu.cuh"
#include "penstock/graph/gpu/lists_gpu.cuh"
#include "penstock/graph/sssp/sssp_window_gpu.cuh"

namespace penstock::gpu {
namespace {

/// The blocks of a pass. Each ends with a few atomic operations, so there are no more than fill the GPU.
std::int64_t grid(std::int64_t threads, Stream stream) {
  return std::min(blocks_for(threads), full_grid(stream));
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill_with(T* to, std::int64_t n, T value) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) to[i] = value;
}

template <class D>
__global__ void __launch_bounds__(kThreads)
    set_sources(PathState<D> s, const Index* sources, std::int64_t n) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const Index v = sources[i];
  s.distances[v] = key_of(D(0));
  atomicOr(&s.pending[v >> 5], Bits(1) << (v & 31));
}

constexpr int kWordsAtOnce = 16;

/// Reads the distances of the pending vertices of 32 words in whole lines, some words at a time. Each lane brings a word; lane 0's
/// is word `first`. Calls f(base, keys, pending) for words base to base + kWordsAtOnce, with the vertex of the lane's bit in each.
/// All lanes of a warp call it.
template <class D, class F>
__device__ void each_pending(const PathState<D>& s, std::int64_t first, Bits mine, F&& f) {
  if (!__any_sync(kAll, mine != 0)) return;
  const int lane = int(threadIdx.x & 31);
  for (int base = 0; base < 32; base += kWordsAtOnce) {
    Key<D> keys[kWordsAtOnce];
    bool pending[kWordsAtOnce];
#pragma unroll
    for (int j = 0; j < kWordsAtOnce; ++j) {
      pending[j] = (__shfl_sync(kAll, mine, base + j) >> lane & 1) != 0;
      keys[j] = pending[j] ? s.distances[(first + base + j) * 32 + lane] : kNoPath<D>;
    }
    f(base, keys, pending);
  }
}

/// The degrees of vertices first + 32 j for which wanted[j], and 0 for others; all reads are under way at once.
__device__ void degrees_of(const ListView& g, std::int64_t first, const bool (&wanted)[kWordsAtOnce],
                           unsigned (&degree)[kWordsAtOnce]) {
#pragma unroll
  for (int j = 0; j < kWordsAtOnce; ++j) {
    const auto v = wanted[j] ? first + 32 * j : 0;  // vertex 0 is there, and its cache line, too
    degree[j] = g.offsets ? unsigned(g.offsets[v + 1] - g.offsets[v]) : g.packed.heads[v] >> kAtBits;
  }
#pragma unroll
  for (int j = 0; j < kWordsAtOnce; ++j) {
    if (!wanted[j]) degree[j] = 0;
    else if (!g.offsets && degree[j] == kInPieces) degree[j] = unsigned(degree_of(g, Index(first + 32 * j)));
  }
}

template <class D>
__global__ void __launch_bounds__(kThreads) find_nearest(PathState<D> s) {
  unsigned long long best = 0;
  Index count = 0;
  const int lane = int(threadIdx.x & 31);
  const auto stride = std::int64_t(gridDim.x) * kThreads;
  for (auto first = std::int64_t(blockIdx.x) * kThreads + (threadIdx.x & ~31u); first < s.words;
       first += stride) {
    const Bits word = first + lane < s.words ? s.pending[first + lane] : 0;
    count += __popc(word);
    each_pending(s, first, word, [&](int, const auto& keys, const auto& pending) {
#pragma unroll
      for (int j = 0; j < kWordsAtOnce; ++j) {
        const auto near = pending[j] ? ~static_cast<unsigned long long>(keys[j]) : 0;
        best = near > best ? near : best;
      }
    });
  }
  best = max_warp(best);
  count = add_warp(count);
  if (lane != 0 || count == 0) return;
  atomicMax(&s.counts->nearest, best);
  atomicAdd(&s.counts->pending, count);
}

__device__ bool over_link(const ListView& g, bool edges_over_link, Index v) {
  if (!edges_over_link) return false;
  return g.offsets ? !(g.list_begin && g.list_begin[v] < 0) : packed_far(g.packed, v);
}

template <class D>
__global__ void __launch_bounds__(kThreads) mark_near(ListView g, PathState<D> s, Window<D> window) {
  const auto end = end_of_window<D>(s.counts->nearest, window.width);
  const int lane = int(threadIdx.x & 31);
  unsigned long long edges = 0, link = 0;
  Index count = 0;
  for (int i = 0; i < int(kBlockWords / kThreads); ++i) {
    const auto first = std::int64_t(blockIdx.x) * kBlockWords + i * kThreads + (threadIdx.x & ~31u);
    const bool in = first + lane < s.words;
    Bits front = 0;
    each_pending(s, first, in ? s.pending[first + lane] : 0,
                 [&](int base, const auto& keys, const auto& pending) {
                   bool near[kWordsAtOnce];
                   Bits any = 0;
#pragma unroll
                   for (int j = 0; j < kWordsAtOnce; ++j) {
                     near[j] = pending[j] && keys[j] < end;
                     const Bits word = __ballot_sync(kAll, near[j]);
                     if (lane == base + j) front = word;
                     any |= word;
                   }
                   if (any == 0) return;
                   unsigned degree[kWordsAtOnce];
                   const auto v = (first + base) * 32 + lane;
                   degrees_of(g, v, near, degree);
#pragma unroll
                   for (int j = 0; j < kWordsAtOnce; ++j) {
                     edges += degree[j];
                     if (near[j] && over_link(g, window.over_link, Index(v + 32 * j))) link += degree[j];
                   }
                 });
    if (in) s.front[first + lane] = front;
    count += __popc(front);
  }
  count = sum_block(count);
  if (threadIdx.x == 0) s.starts[blockIdx.x] = count;
  if (count == 0) return;
  add_block(&s.counts->near_edges, edges);
  add_block(&s.counts->near_link, link);
}

template <class D>
__global__ void __launch_bounds__(kThreads) take_front(PathState<D> s) {
  const unsigned lane = threadIdx.x & 31;
  visit_bits(s.front, s.words, s.starts, [=](std::int64_t w, Bits word, Index position) {
    if (word >> lane & 1) s.list[position + __popc(word & ((1u << lane) - 1))] = Index(w * 32 + lane);
    if (lane == 0) atomicAnd(&s.pending[w], ~word);  // nobody waits for it
  });
}

template <class D>
__global__ void __launch_bounds__(kThreads)
    add_open(ListView g, PathState<D> s, Key<D> beyond, bool link_too) {
  unsigned long long edges = 0, link = 0;
  const auto stride = std::int64_t(gridDim.x) * kThreads;
  for (auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; v < s.vertices; v += stride) {
    if (!(s.distances[v] > beyond)) continue;
    const auto degree = static_cast<unsigned long long>(degree_of(g, Index(v)));
    edges += degree;
    if (over_link(g, link_too, Index(v))) link += degree;
  }
  edges = sum_warp(edges), link = sum_warp(link);
  if ((threadIdx.x & 31) != 0 || edges == 0) return;
  atomicAdd(&s.counts->open_edges, edges);
  atomicAdd(&s.counts->open_link, link);
}

/// Marks in `pending` the vertices that have a predecessor, and counts the reached ones that have none.
template <class D>
__global__ void __launch_bounds__(kThreads) mark_found(PathState<D> s) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const bool in = v < s.vertices;
  const bool found = in && s.tree[v] != kNobody;
  const bool missing = in && !found && s.distances[v] != kNoPath<D>;
  const Bits word = __ballot_sync(kAll, found);
  const auto lacking = Index(__popc(__ballot_sync(kAll, missing)));
  if ((threadIdx.x & 31) != 0 || !in) return;
  s.pending[v / 32] = word;
  if (lacking) atomicAdd(&s.counts->near, lacking);
}

__global__ void __launch_bounds__(kThreads) add_bits(Bits* to, const Bits* from, std::int64_t words) {
  const auto w = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (w < words) to[w] |= from[w];
}

__global__ void __launch_bounds__(kThreads)
    expand_bits(const Bits* bits, std::int64_t n, std::uint8_t* flags) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < n) flags[v] = std::uint8_t(bits[v >> 5] >> (v & 31) & 1);
}

__global__ void __launch_bounds__(kThreads) replace_nobody(Index* tree, std::int64_t n, Index by) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < n && tree[v] == kNobody) tree[v] = by;
}

__global__ void __launch_bounds__(kThreads)
    set_numbers(Index* to, const Index* which, std::int64_t n, Index value) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) to[which[i]] = value;
}

/// The vertices on the device for kernels that take them.
template <class F>
void with_sources(std::span<const Index> sources, Stream stream, F&& f) {
  if (sources.empty()) return;
  const auto bytes = std::int64_t(sources.size_bytes());
  const auto copy = allocate_scratch(bytes, stream);
  copy_async(copy.get(), sources.data(), bytes, stream);
  f(static_cast<const Index*>(copy.get()), std::int64_t(sources.size()));
}

constexpr Index kNoPredecessor = -9999;

}  // namespace

template <class D>
void begin_paths(const PathState<D>& s, std::span<const Index> sources, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(s.counts, 0, sizeof(PathCounts), stream);
  fill_async(s.pending, 0, s.words * std::int64_t(sizeof(Bits)), stream);
  if (s.vertices > 0)
    launch(fill_with<Key<D>>, blocks_for(s.vertices), stream, s.distances, s.vertices, kNoPath<D>);
  with_sources(sources, stream, [&](const Index* which, std::int64_t n) {
    launch(set_sources<D>, blocks_for(n), stream, s, which, n);
  });
}

template <class D>
void choose_window(const ListView& g, const PathState<D>& s, const Window<D>& window, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(s.counts, 0, offsetof(PathCounts, kept), stream);
  if (s.words == 0) return;
  launch(find_nearest<D>, grid(s.words, stream), stream, s);
  launch(mark_near<D>, compact_blocks(s.words), stream, g, s, window);
  scan(s.starts, compact_blocks(s.words), &s.counts->near, stream);
}

template <class D>
void list_window(const PathState<D>& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(take_front<D>, compact_blocks(s.words), stream, s);
}

template <class D>
void measure_open(const ListView& g, const PathState<D>& s, Key<D> beyond, bool over_link, Stream stream) {
  const UseDevice use(stream.where);
  launch(add_open<D>, grid(s.vertices, stream), stream, g, s, beyond, over_link);
}

template <class D>
void flag_pending(const PathState<D>& s, std::uint8_t* flags, Stream stream) {
  const UseDevice use(stream.where);
  launch(expand_bits, blocks_for(s.vertices), stream, s.pending, s.vertices, flags);
}

template <class D>
void begin_tree(const PathState<D>& s, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(s.counts, 0, offsetof(PathCounts, kept), stream);
  launch(fill_with<Index>, blocks_for(s.vertices), stream, s.tree, s.vertices, kNobody);
}

template <class D>
void mark_tree(const PathState<D>& s, std::span<const Index> sources, Stream stream) {
  const UseDevice use(stream.where);
  with_sources(sources, stream, [&](const Index* which, std::int64_t n) {
    launch(set_numbers, blocks_for(n), stream, s.tree, which, n, kNoPredecessor);
  });
  fill_async(s.counts, 0, offsetof(PathCounts, changed), stream);
  launch(mark_found<D>, blocks_for(s.vertices), stream, s);
}

template <class D>
void next_of_tree(const PathState<D>& s, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(s.counts, 0, offsetof(PathCounts, kept), stream);
  compact(s.front, s.words, s.list, s.starts, &s.counts->near, stream);
  launch(add_bits, blocks_for(s.words), stream, s.pending, s.front, s.words);
  fill_async(s.front, 0, s.words * std::int64_t(sizeof(Bits)), stream);
}

template <class D>
void finish_tree(const PathState<D>& s, std::span<const Index> sources, Stream stream) {
  const UseDevice use(stream.where);
  launch(replace_nobody, blocks_for(s.vertices), stream, s.tree, s.vertices, kNoPredecessor);
  with_sources(sources, stream, [&](const Index* which, std::int64_t n) {
    launch(set_numbers, blocks_for(n), stream, s.tree, which, n, kNoPredecessor);
  });
}

#define X(D)                                                                                   \
  template void begin_paths(const PathState<D>&, std::span<const Index>, Stream);              \
  template void choose_window(const ListView&, const PathState<D>&, const Window<D>&, Stream); \
  template void list_window(const PathState<D>&, Stream);                                      \
  template void measure_open(const ListView&, const PathState<D>&, Key<D>, bool, Stream);      \
  template void flag_pending(const PathState<D>&, std::uint8_t*, Stream);                      \
  template void begin_tree(const PathState<D>&, Stream);                                       \
  template void mark_tree(const PathState<D>&, std::span<const Index>, Stream);                \
  template void next_of_tree(const PathState<D>&, Stream);                                     \
  template void finish_tree(const PathState<D>&, std::span<const Index>, Stream);
X(std::uint32_t)
X(float)
X(double)
#undef X

}  // namespace penstock::gpu
