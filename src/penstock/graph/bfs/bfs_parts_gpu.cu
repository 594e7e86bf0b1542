// The kernels that put together what several GPUs have found in a search.
#include "penstock/graph/bfs/bfs_parts_state.hpp"
#include "penstock/kernel/launch_gpu.cuh"

namespace penstock::gpu {
namespace {

__global__ void __launch_bounds__(kThreads) add_bits(Bits* to, const Bits* from, std::int64_t words) {
  const auto w = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (w >= words) return;
  const Bits more = from[w];
  if (more) to[w] |= more;
}

__global__ void __launch_bounds__(kThreads)
    take_parents(Index* parents, const Index* from, std::int64_t vertices) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < vertices && parents[v] == kNoPredecessor) parents[v] = from[v];
}

}  // namespace

void unite(Bits* to, const Bits* from, std::int64_t words, Stream stream) {
  if (words == 0) return;
  const UseDevice use(stream.where);
  launch(add_bits, blocks_for(words), stream, to, from, words);
}

void fill_parents(Index* parents, const Index* from, std::int64_t vertices, Stream stream) {
  if (vertices == 0) return;
  const UseDevice use(stream.where);
  launch(take_parents, blocks_for(vertices), stream, parents, from, vertices);
}

}  // namespace penstock::gpu
