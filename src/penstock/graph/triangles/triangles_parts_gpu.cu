// Counts triangles over the lists of two parts of a graph, and adds up what parts have counted.
#include "penstock/graph/triangles/triangles_parts.hpp"
#include "penstock/graph/triangles/triangles_walk_gpu.cuh"

namespace penstock::gpu {
namespace {

__global__ void __launch_bounds__(kThreads)
    add_numbers(unsigned long long* to, const unsigned long long* more, std::int64_t count) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] += more[i];
}

}  // namespace

void count_pair(const ListView& from, Index from_first, const ListView& own, Index first,
                const TriangleState& s, bool count, Stream stream) {
  if (from.vertices == 0 || own.vertices == 0) return;
  const UseDevice use(stream.where);
  if (own.packed.heads)
    count_lists(PartLists<Access::packed>{from, own, from_first, first}, from.vertices, s, count, stream);
  else count_lists(PartLists<Access::aligned>{from, own, from_first, first}, from.vertices, s, count, stream);
}

void add_counts(unsigned long long* to, const unsigned long long* more, std::int64_t count, Stream stream) {
  if (count == 0) return;
  const UseDevice use(stream.where);
  launch(add_numbers, blocks_for(count), stream, to, more, count);
}

}  // namespace penstock::gpu
