// The kernels by which GPUs with a part of a graph each take what others have found in a level of betweenness. A vertex is in a list
// once, so nothing but the bitmap, whose words vertices share, needs atomic operations.
#include "penstock/graph/betweenness/betweenness_parts_state.hpp"
#include "penstock/kernel/launch_gpu.cuh"

namespace penstock::gpu {
namespace {

__global__ void __launch_bounds__(kThreads)
    gather_paths(CentralityState s, Index first, const Index* vertices, const Index* count, double* values) {
  const auto all = std::int64_t(*count), stride = std::int64_t(gridDim.x) * kThreads;
  for (auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all; i += stride)
    values[i] = s.paths[first + vertices[i]];
}

__global__ void __launch_bounds__(kThreads)
    take_paths(CentralityState s, Told told, const double* values, Index depth) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= told.count) return;
  const Index u = told.first + told.vertices[i];
  if (s.level[u] < 0) {
    s.level[u] = depth;
    atomicOr(&s.next[u >> 5], Bits(1) << (u & 31));
  }
  if (s.level[u] == depth) s.paths[u] += values[i];
}

__global__ void __launch_bounds__(kThreads) write_levels(CentralityState s, Told told, Index depth) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < told.count) s.level[told.first + told.vertices[i]] = depth;
}

__global__ void __launch_bounds__(kThreads) write_shares(CentralityState s, Told told, const double* values) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < told.count) s.share[told.first + told.vertices[i]] = values[i];
}

}  // namespace

void pack_paths(const CentralityState& s, Index first, const Index* vertices, const Index* count,
                double* values, Stream stream) {
  const UseDevice use(stream.where);
  launch(gather_paths, full_grid(stream), stream, s, first, vertices, count, values);
}

void add_paths(const CentralityState& s, const Told& told, const double* values, Index depth, Stream stream) {
  if (told.count == 0) return;
  const UseDevice use(stream.where);
  launch(take_paths, blocks_for(told.count), stream, s, told, values, depth);
}

void note_level(const CentralityState& s, const Told& told, Index depth, Stream stream) {
  if (told.count == 0) return;
  const UseDevice use(stream.where);
  launch(write_levels, blocks_for(told.count), stream, s, told, depth);
}

void note_shares(const CentralityState& s, const Told& told, const double* values, Stream stream) {
  if (told.count == 0) return;
  const UseDevice use(stream.where);
  launch(write_shares, blocks_for(told.count), stream, s, told, values);
}

}  // namespace penstock::gpu
