#include <algorithm>

#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/copy_by_kernel.hpp"

// A block copies 16 KB at a time, with four 16-byte loads of each thread before the first store. Over NVLink a load takes 1.5
// us and more, so that 600 KB must be under way. There are as many blocks as that needs, and no more on any GPU, because a
// product is computed at the same time.
namespace penstock::gpu {
namespace {

constexpr int kEach = 4, kMostBlocks = 32;

__global__ void __launch_bounds__(kThreads)
    copy_kernel(uint4* __restrict__ to, const uint4* __restrict__ from, std::int64_t vectors, int rest) {
  for (auto first = std::int64_t(blockIdx.x) * kThreads * kEach; first < vectors;
       first += std::int64_t(gridDim.x) * kThreads * kEach) {
    uint4 held[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const auto i = first + k * kThreads + threadIdx.x;
      if (i < vectors) held[k] = __ldcs(from + i);
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const auto i = first + k * kThreads + threadIdx.x;
      if (i < vectors) to[i] = held[k];
    }
  }
  if (blockIdx.x == 0 && int(threadIdx.x) < rest)
    reinterpret_cast<char*>(to + vectors)[threadIdx.x] =
        reinterpret_cast<const char*>(from + vectors)[threadIdx.x];
}

}  // namespace

void copy_by_kernel(void* to, const void* from, std::int64_t bytes, Stream stream) {
  const UseDevice use(stream.where);
  const auto vectors = bytes / 16;
  const auto blocks = std::min<std::int64_t>(kMostBlocks, blocks_for(vectors / kEach) + 1);
  launch(copy_kernel, blocks, stream, static_cast<uint4*>(to), static_cast<const uint4*>(from), vectors,
         static_cast<int>(bytes % 16));
}

}  // namespace penstock::gpu
