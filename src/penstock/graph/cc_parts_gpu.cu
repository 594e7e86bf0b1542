// What one GPU has found of the components, put into the trees of another.
#include "penstock/graph/cc_forest_gpu.cuh"

namespace penstock::gpu {
namespace {

/// A tree is the edges from its vertices to their parents: linking along these links all that it holds.
__global__ void __launch_bounds__(kThreads)
    link_parents(CcState s, const Index* parents, std::int64_t first, std::int64_t last) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x, v = first + i;
  if (v >= last) return;
  const Index other = read_once(parents + i);
  if (other != v && other != s.parent[v]) unite(s.parent, Index(v), other);
}

}  // namespace

void merge_trees(const CcState& s, const Index* parents, std::int64_t first, std::int64_t last,
                 Stream stream) {
  if (first >= last) return;
  const UseDevice use(stream.where);
  launch(link_parents, blocks_for(last - first), stream, s, parents, first, last);
}

}  // namespace penstock::gpu
