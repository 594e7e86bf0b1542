// Kernels that only read, to measure the speed of a memory and its link. A thread keeps one sum; a block adds up the sums of
// its threads in shared memory, and then adds once to the result: a thousand atomic additions for a gigabyte of reads.
#include <algorithm>

#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/read_probe.hpp"

namespace penstock::gpu {
namespace {

constexpr int kBatch = 4;  // 16-byte loads in flight a thread: 128 KB a multiprocessor of 2048 threads

/// Adds the block's sums to `*sum`. All threads of the block must call it.
__device__ void add_up(std::uint32_t mine, std::uint32_t* sum) {
  __shared__ std::uint32_t total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(kAll, mine, d);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, total);
}

/// A thread reads one list, one entry at a time. The loop is not unrolled: that would ask for the entries of a whole sector
/// together, which a thread that works on each entry does not do.
__global__ void __launch_bounds__(kThreads, most_blocks(8, kThreads))
    read_by_threads(const std::uint32_t* data, std::int64_t count, ListShape shape, std::uint32_t* sum) {
  const auto list = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  std::uint32_t mine = 0;
  if (list < count) {
    const auto* entries = data + shape.first(list);
#pragma unroll 1
    for (std::int64_t k = 0; k < shape.entries; ++k) mine += entries[k];
  }
  add_up(mine, sum);
}

/// A warp reads one list; neighbouring warps read neighbouring lists.
__global__ void __launch_bounds__(kThreads, most_blocks(8, kThreads))
    read_by_warps(const std::uint32_t* data, std::int64_t count, ListShape shape, std::uint32_t* sum) {
  const int lane = int(threadIdx.x) % 32;
  const auto warps = std::int64_t(gridDim.x) * (kThreads / 32);
  std::uint32_t mine = 0;
  for (auto list = (std::int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32; list < count; list += warps) {
    const auto begin = shape.first(list), end = shape.first(list + 1);
    const auto from = shape.from_line ? begin / 32 * 32 : begin;
#pragma unroll 4
    for (auto k = from + lane; k < end; k += 32)
      if (k >= begin) mine += data[k];
  }
  add_up(mine, sum);
}

__global__ void __launch_bounds__(kThreads, most_blocks(8, kThreads))
    read_all(const std::uint32_t* data, std::int64_t words, std::uint32_t* sum) {
  const auto id = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto threads = std::int64_t(gridDim.x) * kThreads, vectors = words / 4;
  const auto* from = reinterpret_cast<const uint4*>(data);
  std::uint32_t mine = 0;
  auto i = id;
  for (; i + (kBatch - 1) * threads < vectors; i += kBatch * threads) {
    uint4 v[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) v[j] = __ldcs(from + i + j * threads);
#pragma unroll
    for (int j = 0; j < kBatch; ++j) mine += v[j].x + v[j].y + v[j].z + v[j].w;
  }
  for (; i < vectors; i += threads) {
    const auto v = __ldcs(from + i);
    mine += v.x + v.y + v.z + v.w;
  }
  if (id < words % 4) mine += data[vectors * 4 + id];
  add_up(mine, sum);
}

__global__ void __launch_bounds__(kThreads, most_blocks(8, kThreads))
    copy_all(std::uint32_t* to, const std::uint32_t* from, std::int64_t words) {
  const auto id = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto threads = std::int64_t(gridDim.x) * kThreads, vectors = words / 4;
  const auto* source = reinterpret_cast<const uint4*>(from);
  auto* target = reinterpret_cast<uint4*>(to);
  auto i = id;
  for (; i + (kBatch - 1) * threads < vectors; i += kBatch * threads) {
    uint4 v[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) v[j] = __ldcs(source + i + j * threads);
#pragma unroll
    for (int j = 0; j < kBatch; ++j) __stcs(target + i + j * threads, v[j]);
  }
  for (; i < vectors; i += threads) __stcs(target + i, __ldcs(source + i));
  if (id < words % 4) to[vectors * 4 + id] = from[vectors * 4 + id];
}

__global__ void nothing() {}

/// The number of blocks: enough to fill the GPU, but none without work.
std::int64_t grid(std::int64_t threads, Stream stream) {
  return std::clamp<std::int64_t>(blocks_for(threads), 1, full_grid(stream));
}

}  // namespace

void read_lists(const std::uint32_t* data, std::int64_t words, ReadPattern pattern, std::uint32_t* sum,
                Stream stream) {
  const UseDevice use(stream.where);
  const auto shape = list_shape(pattern);
  const auto count = shape.count(words);
  if (pattern == ReadPattern::strided)
    launch(read_by_threads, blocks_for(count), stream, data, count, shape, sum);
  else launch(read_by_warps, grid(count * 32, stream), stream, data, count, shape, sum);
}

void read_stream(const std::uint32_t* data, std::int64_t words, std::uint32_t* sum, Stream stream) {
  const UseDevice use(stream.where);
  launch(read_all, grid((words + 3) / 4, stream), stream, data, words, sum);
}

void copy_stream(std::uint32_t* to, const std::uint32_t* from, std::int64_t words, Stream stream) {
  const UseDevice use(stream.where);
  launch(copy_all, grid((words + 3) / 4, stream), stream, to, from, words);
}

void launch_nothing(Stream stream) {
  const UseDevice use(stream.where);
  launch(nothing, 1, stream);
}

}  // namespace penstock::gpu
