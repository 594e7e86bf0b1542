// A step of PageRank over neighbour lists: each list adds up the entries of x that it names. A warp takes the lists of 32
// neighbouring vertices. Lists above kLongList entries are cut into pieces with a sum each, which are then added in the order of the
// pieces. So no sum is an atomic operation, and each has the same order in every run.
#include "penstock/graph/gpu/list_walk_gpu.cuh"
#include "penstock/graph/pagerank/pagerank_lists.hpp"

namespace penstock::gpu {
namespace {

template <class T>
struct Pull {
  const T* x;
  T* y;
  T sum = 0;

  __device__ void begin(Index) { sum = 0; }
  __device__ void operator()(Index u) { sum += __ldg(x + u); }
  __device__ void end(Index v, int lanes) {
    const T all = add_group(sum, lanes);
    if (leads(lanes)) y[v] = all;
  }
};

template <Access A>
__global__ void __launch_bounds__(kThreads) find_cut_lists(ListView g, CutLists cut) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= g.vertices) return;
  const auto list = list_of<A>(g, Index(v));
  if (list.size() <= kLongList) return;
  const Index more = count_pieces(list.begin, list.end);
  const Index first = atomicAdd(&cut.counts->pieces, more);
  cut.lists[atomicAdd(&cut.counts->lists, 1)] = {Index(v), first, more};
  for (Index i = 0; i < more; ++i) cut.pieces[first + i] = {Index(v), i};
}

template <Access A, bool Count, class T>
__global__ void __launch_bounds__(kThreads) pull_lists(ListView g, const T* x, T* y) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  ListOf<A> list;
  if (v < g.vertices) {
    list = list_of<A>(g, Index(v));
    if (list.size() == 0) y[v] = 0;
    if (list.size() > kLongList) list.end = list.begin;
  }
  walk_each<A, Count>(g, list, Index(v), Pull<T>{x, y});
}

template <Access A, bool Count, class T>
__global__ void __launch_bounds__(kThreads) pull_cut(ListView g, CutLists cut, const T* x) {
  const auto warps = std::int64_t(gridDim.x) * (kThreads / 32);
  const Index count = cut.counts->pieces;
  for (auto i = std::int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; i < count; i += warps) {
    const auto list = piece_list<A>(g, cut.pieces[i]);
    T sum = 0;
    walk<A, Count>(g, list, [&](Offset, Index u) { sum += __ldg(x + u); });
    sum = add_group(sum, 32);
    if (leads(32)) cut.sums[i] = double(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) add_cut(CutLists cut, T* y) {
  const auto warps = std::int64_t(gridDim.x) * (kThreads / 32);
  const Index count = cut.counts->lists;
  for (auto i = std::int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; i < count; i += warps) {
    const CutList one = cut.lists[i];
    double sum = 0;
    for (Index k = Index(threadIdx.x & 31); k < one.pieces; k += 32) sum += cut.sums[one.first + k];
    sum = add_group(sum, 32);
    if (leads(32)) y[one.vertex] = T(sum);
  }
}

}  // namespace

void find_cut(const ListView& g, const CutLists& cut, Access access, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  const auto blocks = blocks_for(g.vertices);
  if (access == Access::packed) launch(find_cut_lists<Access::packed>, blocks, stream, g, cut);
  else launch(find_cut_lists<Access::direct>, blocks, stream, g, cut);
}

template <class T>
void pull_ranks(const ListView& g, const CutLists& cut, const T* x, T* y, Access access, bool count,
                Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  const auto blocks = blocks_for(g.vertices), all = full_grid(stream);
  with_any_access(access, [&]<Access A>() {
    launch(count ? pull_lists<A, true, T> : pull_lists<A, false, T>, blocks, stream, g, x, y);
    launch(count ? pull_cut<A, true, T> : pull_cut<A, false, T>, all, stream, g, cut, x);
  });
  launch(add_cut<T>, all, stream, cut, y);
}

template void pull_ranks(const ListView&, const CutLists&, const float*, float*, Access, bool, Stream);
template void pull_ranks(const ListView&, const CutLists&, const double*, double*, Access, bool, Stream);

}  // namespace penstock::gpu
