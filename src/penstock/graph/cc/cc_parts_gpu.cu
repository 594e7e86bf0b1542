// The kernels that put what one GPU has found of the components into the trees of another GPU.
#include "penstock/graph/cc/cc_forest_gpu.cuh"

namespace penstock::gpu {
namespace {

/// A tree consists of the edges from its vertices to their parents. Linking along these edges adds all that the tree holds.
__global__ void __launch_bounds__(kThreads)
    link_parents(CcState s, const Index* parents, std::int64_t first, std::int64_t last) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x, v = first + i;
  if (v >= last) return;
  const Index other = read_once(parents + i);
  if (other != v && other != s.parent[v]) unite(s.parent, Index(v), other);
}

__global__ void __launch_bounds__(kThreads) mark_present_roots(CcState s) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const Bits word = __ballot_sync(kAll, v < s.vertices && s.parent[v] == v);
  if (v < s.vertices && (threadIdx.x & 31) == 0) s.roots[v / 32] = word;
}

/// Lists the roots of then that are no roots now, with their parents. These links join everything that has been joined: the
/// parent of such a root is smaller, the root of then above that parent is not larger, and so on down to a root of now.
__global__ void __launch_bounds__(kThreads) list_lost_roots(CcState s, TreeLink* links, Index room) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= s.vertices || (s.roots[v / 32] >> (v & 31) & 1) == 0) return;
  const Index above = s.parent[v];
  if (above == v) return;
  const Index at = atomicAdd(&s.counts->links, 1);
  if (at < room) links[at] = {Index(v), above};
}

__global__ void __launch_bounds__(kThreads) unite_links(CcState s, const TreeLink* links, Index count) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) unite(s.parent, links[i].vertex, links[i].above);
}

}  // namespace

void note_roots(const CcState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(mark_present_roots, blocks_for(s.vertices), stream, s);
}

void list_links(const CcState& s, TreeLink* links, Index room, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(&s.counts->links, 0, sizeof(Index), stream);
  launch(list_lost_roots, blocks_for(s.vertices), stream, s, links, room);
}

void add_links(const CcState& s, const TreeLink* links, Index count, Stream stream) {
  if (count == 0) return;
  const UseDevice use(stream.where);
  launch(unite_links, blocks_for(count), stream, s, links, count);
}

void merge_trees(const CcState& s, const Index* parents, std::int64_t first, std::int64_t last,
                 Stream stream) {
  if (first >= last) return;
  const UseDevice use(stream.where);
  launch(link_parents, blocks_for(last - first), stream, s, parents, first, last);
}

}  // namespace penstock::gpu
