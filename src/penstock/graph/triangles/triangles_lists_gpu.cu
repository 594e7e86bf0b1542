// Counts triangles over the lists of one GPU.
#include "penstock/graph/triangles/triangles_walk_gpu.cuh"

namespace penstock::gpu {
namespace {

/// number[v] of each vertex v, out of those of the numbers.
__global__ void __launch_bounds__(kThreads)
    gather_counts(const unsigned long long* of_number, const Index* number, std::int64_t vertices,
                  unsigned long long* of_vertex) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < vertices) of_vertex[v] = of_number[number[v]];
}

}  // namespace

void count_triangles(const ListView& g, const TriangleState& s, Access access, bool count, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  with_any_access(access, [&]<Access A>() { count_lists(WholeLists<A>{g}, g.vertices, s, count, stream); });
}

void counts_of_vertices(const unsigned long long* of_number, const Index* number, std::int64_t vertices,
                        unsigned long long* of_vertex, Stream stream) {
  const UseDevice use(stream.where);
  if (vertices > 0)
    launch(gather_counts, blocks_for(vertices), stream, of_number, number, vertices, of_vertex);
}

}  // namespace penstock::gpu
