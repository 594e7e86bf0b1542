// The kernels of betweenness (Brandes 2001), for one source after the other; all warps work on one level. Forward, each list
// of a level is read once, and paths are added up with atomics. Backward, each list is read again, and the shares of the
// vertices one level down are gathered, with atomics only for lists that are cut. Levels are listed in the order of the
// vertices, which is the order of the addresses of their lists.
#include "penstock/graph/betweenness/betweenness_gpu_state.hpp"
#include "penstock/graph/gpu/list_walk_gpu.cuh"

namespace penstock::gpu {
namespace {

struct Forward {
  CentralityState s;
  Index next;
  double paths = 0;

  __device__ void begin(Index v) { paths = s.paths[s.first + v]; }
  __device__ void operator()(Index u) {
    Index level = s.level[u];  // if it is -1, it may be old; the compare-and-swap has the right value
    if (level < 0) {
      level = atomicCAS(&s.level[u], -1, next);
      if (level < 0) {
        level = next;
        atomicOr(&s.next[u >> 5], Bits(1) << (u & 31));
      }
    }
    if (level == next) atomicAdd(&s.paths[u], paths);
  }
  __device__ void end(Index, int) {}
};

struct Backward {
  CentralityState s;
  Index next;
  double sum = 0;

  __device__ void begin(Index) { sum = 0; }
  __device__ void operator()(Index u) {
    if (s.level[u] == next) sum += s.share[u];
  }
  __device__ void end(Index v, int lanes) {
    sum = add_group(sum, lanes);
    if (leads(lanes) && sum != 0) atomicAdd(&s.share[s.first + v], sum);
  }
};

template <Access A, bool Count, class F>
__global__ void __launch_bounds__(kThreads)
    walk_level(ListView g, CentralityState s, const Index* list, Index size, int at_once, F f) {
  const int lane = int(threadIdx.x & 31);
  const auto warp = std::int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const auto at = warp * at_once + lane;
  const bool mine = lane < at_once && at < size;
  const Index v = mine ? list[at] : 0;
  ListOf<A> own;
  if (mine) {
    own = list_of<A>(g, v);
    if (!(s.paths[s.first + v] <= kMostPaths)) s.counts->too_many = 1;
    cut_if_long(own, v, s.pieces, &s.counts->pieces);
  }
  walk_each<A, Count>(g, own, v, f);
}

template <Access A, bool Count, class F>
__global__ void __launch_bounds__(kThreads) walk_cut(ListView g, CentralityState s, F f) {
  walk_pieces<A, Count>(g, s.pieces, s.counts->pieces, f);
}

__global__ void set_source(CentralityState s, Index source) {
  if (threadIdx.x != 0) return;
  s.level[source] = 0;
  if (source < s.first || source - s.first >= s.vertices) return;
  s.paths[source] = 1;
  s.order[0] = source - s.first;
}

__global__ void __launch_bounds__(kThreads)
    settle(CentralityState s, const Index* list, Index size, double own, double* told) {
  const auto at = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= size) return;
  const Index v = list[at];
  const double paths = s.paths[s.first + v], dependency = paths * s.share[s.first + v];
  const double share = (1 + dependency) / paths;
  s.share[s.first + v] = share;
  if (told) told[at] = share;
  s.sums[v] += dependency + own;
}

__global__ void add_one(CentralityState s, Index source, double more) {
  if (threadIdx.x == 0) s.sums[source - s.first] += more;
}

__global__ void __launch_bounds__(kThreads) multiply_sums(CentralityState s, double factor) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < s.vertices) s.sums[v] *= factor;
}

template <class F>
void walk_all(const ListView& g, const CentralityState& s, const Index* list, Index size, Access access,
              bool count, F f, Stream stream) {
  fill_async(&s.counts->pieces, 0, sizeof(Index), stream);
  // Few lists are spread over all warps; many are taken 32 at a time, in order.
  const auto warps = full_grid(stream) * (kThreads / 32);
  const auto at_once = access == Access::strided ? 32 : min(std::int64_t(32), (size + warps - 1) / warps);
  const auto blocks = blocks_for((size + at_once - 1) / at_once * 32);
  with_any_access(access, [&]<Access A>() {
    launch(count ? walk_level<A, true, F> : walk_level<A, false, F>, blocks, stream, g, s, list, size,
           int(at_once), f);
    launch(count ? walk_cut<A, true, F> : walk_cut<A, false, F>, full_grid(stream), stream, g, s, f);
  });
}

}  // namespace

void begin_source(const CentralityState& s, Index source, Stream stream) {
  const UseDevice use(stream.where);
  const auto n = s.all_vertices;
  fill_async(s.level, 0xff, n * 4, stream);
  fill_async(s.paths, 0, n * 8, stream);
  fill_async(s.share, 0, n * 8, stream);
  fill_async(s.counts, 0, sizeof(CentralityCounts), stream);
  launch(set_source, 1, stream, s, source);
}

void walk_forward(const ListView& g, const CentralityState& s, const Index* list, Index size, Index depth,
                  Access access, bool count, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(s.next, 0, bit_words(s.all_vertices) * std::int64_t(sizeof(Bits)), stream);
  if (size > 0) walk_all(g, s, list, size, access, count, Forward{s, depth + 1}, stream);
}

void find_level(const ListView& g, const CentralityState& s, const Index* list, Index size, Index depth,
                Index* to, Access access, bool count, Stream stream) {
  walk_forward(g, s, list, size, depth, access, count, stream);
  compact(s.next, bit_words(s.vertices), to, s.starts, &s.counts->found, stream);
}

void add_dependencies(const ListView& g, const CentralityState& s, const Index* list, Index size, Index depth,
                      bool last, double own, double* told, Access access, bool count, Stream stream) {
  if (size == 0) return;
  const UseDevice use(stream.where);
  if (!last) walk_all(g, s, list, size, access, count, Backward{s, depth + 1}, stream);
  launch(settle, blocks_for(size), stream, s, list, size, own, told);
}

void add_source(const CentralityState& s, Index source, double more, Stream stream) {
  const UseDevice use(stream.where);
  launch(add_one, 1, stream, s, source, more);
}

void scale_sums(const CentralityState& s, double factor, Stream stream) {
  if (s.vertices == 0) return;
  const UseDevice use(stream.where);
  launch(multiply_sums, blocks_for(s.vertices), stream, s, factor);
}

}  // namespace penstock::gpu
