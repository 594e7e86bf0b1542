// Builds the neighbour sample and the cache of lists, by ordered passes over the edges.
//
// A bottom-up search asks for each unvisited vertex whether a neighbour is in the frontier. Vertices of high degree are
// visited early and have many neighbours. So the few neighbours of highest degree answer most of these questions, and lists in
// host memory are read for the other vertices only.
#include "penstock/graph/gpu/gpu_graph_kernels.hpp"
#include "penstock/graph/gpu/lists_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kWarps = kThreads / 32;

using Key = SampleKey;

/// The largest key of the warp.
__device__ Key max_key(Key mine) {
  const unsigned high = max_warp(unsigned(mine >> 32));
  const unsigned low = max_warp(unsigned(mine >> 32) == high ? unsigned(mine) : 0u);
  return Key(high) << 32 | low;
}

template <int K, Access A>
__global__ void __launch_bounds__(kThreads)
    choose_neighbours(ListView g, const Offset* all_offsets, SampleOf kind,
                      std::uint32_t* __restrict__ sample) {
  const int lane = int(threadIdx.x & 31);
  const auto stride = std::int64_t(gridDim.x) * kWarps;
  for (auto v = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; v < g.vertices; v += stride) {
    auto list = list_of<A>(g, Index(v));
    const bool whole = list.size() <= K;
    std::uint32_t slot = kNoVertex;
    if (whole || kind == SampleOf::first) {
      if constexpr (A == Access::packed) {  // lane i has entry i of the first chunk
        decode<32, false>(g, list, kAll, [&](Offset, Index u, bool mine) {
          if (mine && lane < K) slot = std::uint32_t(u);
          return true;
        });
      } else if (lane < K && list.begin + lane < list.end) {
        slot = std::uint32_t(list.ids[list.begin + lane]);
      }
      if (whole && lane == K - 1) slot |= kWholeList;
    } else {
      Key best[K] = {};
      const auto look = [&](Index u) {
        Offset degree = 0;
        if (all_offsets) degree = all_offsets[u + 1] - all_offsets[u];
        else if constexpr (A == Access::packed) degree = packed_degree_near(g.packed, u);
        else degree = degree_of(g, u);
        insert_key(best, sample_key(degree, u));
      };
      if constexpr (A == Access::packed) {
        decode<32, false>(g, list, kAll, [&](Offset i, Index u, bool mine) {
          if (mine && i < kSampleLook) look(u);
          return i - lane + 32 >= kSampleLook;
        });
      } else {
        if (list.size() > kSampleLook) list.end = list.begin + kSampleLook;
        walk<A, false>(g, list, [&](Offset, Index u) { look(u); });
      }
#pragma unroll
      for (int r = 0; r < K; ++r) {
        const Key top = max_key(best[0]);
        if (lane == r && top != 0) slot = vertex_of(top);
        if (best[0] == top) {  // this may hold in a second lane, too, if the list has the neighbour twice
#pragma unroll
          for (int i = 0; i + 1 < K; ++i) best[i] = best[i + 1];
          best[K - 1] = 0;
        }
      }
    }
    if (lane < K) sample[v * K + lane] = slot;
  }
}

__device__ int bucket_of(Offset degree) {
  if (degree < 8) return int(degree);
  const int top = 63 - __clzll(degree);
  return 8 * (top - 2) + int(degree >> (top - 3) & 7);
}
__device__ bool is_hot(HotLists hot, Offset degree, Index v) {
  const int bucket = bucket_of(degree);
  if (bucket == hot.bucket) return v < hot.before;
  return hot.shortest ? bucket < hot.bucket : bucket > hot.bucket;
}

__global__ void __launch_bounds__(kThreads) add_degrees(ListView g, unsigned long long* edges) {
  __shared__ unsigned long long sums[kDegreeBuckets];
  for (int i = int(threadIdx.x); i < kDegreeBuckets; i += kThreads) sums[i] = 0;
  __syncthreads();
  const auto stride = std::int64_t(gridDim.x) * kThreads;
  for (auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; v < g.vertices; v += stride) {
    const Offset degree = g.offsets[v + 1] - g.offsets[v];
    if (degree > 0) atomicAdd(&sums[bucket_of(degree)], static_cast<unsigned long long>(degree));
  }
  __syncthreads();
  for (int i = int(threadIdx.x); i < kDegreeBuckets; i += kThreads)
    if (sums[i]) atomicAdd(&edges[i], sums[i]);
}

__global__ void __launch_bounds__(kThreads) write_sizes(ListView g, HotLists hot, bool only, Offset* sizes) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= g.vertices) return;
  const Offset degree = g.offsets[v + 1] - g.offsets[v];
  sizes[v] = (only ? bucket_of(degree) == hot.bucket : is_hot(hot, degree, Index(v))) ? degree : 0;
}

__global__ void __launch_bounds__(kThreads)
    find_beyond(ListView g, int bucket, const Offset* before, Offset room, Index* vertex) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= g.vertices) return;
  const Offset degree = g.offsets[v + 1] - g.offsets[v];
  if (bucket_of(degree) == bucket && before[v] + degree > room) atomicMin(vertex, Index(v));
}

__global__ void __launch_bounds__(kThreads)
    copy_lists(ListView g, HotLists hot, Offset* list_begin, Index* cache) {
  const int lane = int(threadIdx.x & 31);
  const auto stride = std::int64_t(gridDim.x) * kWarps;
  for (auto first = (std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32) * 32; first < g.vertices;
       first += stride * 32) {
    const auto v = first + lane;
    const Offset begin = v < g.vertices ? g.offsets[v] : 0, end = v < g.vertices ? g.offsets[v + 1] : 0;
    const bool mine = end > begin && is_hot(hot, end - begin, Index(v));
    const Offset to = v < g.vertices ? list_begin[v] : 0;
    if (v < g.vertices) list_begin[v] = mine ? ~to : begin;
    for (unsigned left = __ballot_sync(kAll, mine); left != 0; left &= left - 1) {
      const int owner = __ffs(int(left)) - 1;
      const Offset from = __shfl_sync(kAll, begin, owner);
      const Offset at = __shfl_sync(kAll, to, owner);
      walk<Access::aligned, false>({g.edges, from, __shfl_sync(kAll, end, owner), false}, nullptr,
                                   [&](Offset i, Index u) { cache[at + (i - from)] = u; });
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) copy_entries(ListView g, const T* from, T* to) {
  const int lane = int(threadIdx.x & 31);
  const auto stride = std::int64_t(gridDim.x) * kWarps;
  for (auto v = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; v < g.vertices; v += stride) {
    const Offset at = g.list_begin[v];
    if (at >= 0) continue;
    const Offset begin = g.offsets[v], end = g.offsets[v + 1];
    for (Offset i = begin + lane; i < end; i += 32) to[~at + (i - begin)] = from[i];
  }
}

/// The grid of passes in the order of the vertices: at most four waves, so that lists of different lengths balance.
std::int64_t grid(std::int64_t blocks, Stream stream) { return std::min(blocks, 4 * full_grid(stream)); }

template <class T>
void copy_as(const ListView& g, const void* from, void* to, Stream stream) {
  launch(copy_entries<T>, grid(blocks_for(g.vertices * 32), stream), stream, g, static_cast<const T*>(from),
         static_cast<T*>(to));
}

}  // namespace

void build_sample(const ListView& g, const Offset* all_offsets, SampleOf kind, std::uint32_t* sample,
                  int size, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  const auto blocks = grid(blocks_for(g.vertices * 32), stream);
  const auto choose = [&]<Access A>() {
    if (size == 4) launch(choose_neighbours<4, A>, blocks, stream, g, all_offsets, kind, sample);
    else if (size == 8) launch(choose_neighbours<8, A>, blocks, stream, g, all_offsets, kind, sample);
    else launch(choose_neighbours<16, A>, blocks, stream, g, all_offsets, kind, sample);
  };
  if (g.packed.heads) choose.template operator()<Access::packed>();
  else choose.template operator()<Access::aligned>();
}

void count_degrees(const ListView& g, unsigned long long* edges, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  launch(add_degrees, grid(blocks_for(g.vertices), stream), stream, g, edges);
}

void hot_sizes(const ListView& g, HotLists hot, bool only, Offset* sizes, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  launch(write_sizes, blocks_for(g.vertices), stream, g, hot, only, sizes);
}

void first_beyond(const ListView& g, int bucket, const Offset* before, Offset room, Index* vertex,
                  Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  launch(find_beyond, blocks_for(g.vertices), stream, g, bucket, before, room, vertex);
}

void fill_cache(const ListView& g, HotLists hot, Offset* list_begin, Index* cache, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  launch(copy_lists, grid(blocks_for(g.vertices), stream), stream, g, hot, list_begin, cache);
}

void copy_along(const ListView& g, const void* from, void* to, int entry_bytes, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  if (entry_bytes == 1) copy_as<std::uint8_t>(g, from, to, stream);
  else if (entry_bytes == 2) copy_as<std::uint16_t>(g, from, to, stream);
  else if (entry_bytes == 4) copy_as<std::uint32_t>(g, from, to, stream);
  else copy_as<std::uint64_t>(g, from, to, stream);
}

}  // namespace penstock::gpu
