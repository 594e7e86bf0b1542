#include <algorithm>

#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/dense_blocks.hpp"
#include "penstock/semiring/plus_times.hpp"

// Neighbouring lanes take the entries of a row, and the lanes after them those of the next row, so a warp reads the blocks in
// one piece. In blocks of up to 32 rows a lane has one entry of a row, and takes several rows, whose reads are under way
// together.
namespace penstock::gpu {
namespace {

constexpr int kRowsAtOnce = 4;  // 32 bytes of each lane are under way in float64, as in passes over vectors

/// `kOnce`: no row has more entries than there are lanes.
template <class T, int kLanes, bool kOnce>
__global__ void __launch_bounds__(kThreads)
    blocks_kernel(const T* blocks, std::uint32_t rows, std::uint32_t block, const T* __restrict__ x, T* y) {
  constexpr std::uint32_t kGroups = kThreads / kLanes;
  const auto part = threadIdx.x % kLanes;
  const auto first = std::int64_t(blockIdx.x) * kGroups * kRowsAtOnce + threadIdx.x / kLanes;
  double sums[kRowsAtOnce] = {};
#pragma unroll
  for (int i = 0; i < kRowsAtOnce; ++i) {
    if (first + i * kGroups >= rows) continue;
    const auto row = std::uint32_t(first) + i * kGroups;
    const auto from = row / block * block, size = min(block, rows - from);
    const T* entries = blocks + std::int64_t(from) * block + std::int64_t(row - from) * size;
    if constexpr (kOnce) {
      if (part < size) sums[i] = double(read_once(entries + part)) * double(x[from + part]);
    } else {
      for (auto c = part; c < size; c += kLanes)
        sums[i] += double(read_once(entries + c)) * double(x[from + c]);
    }
  }
#pragma unroll
  for (int i = 0; i < kRowsAtOnce; ++i) {
    const double sum = sum_lanes<PlusTimes<double>>(sums[i], kLanes);
    if (part == 0 && first + i * kGroups < rows) y[first + i * kGroups] = T(sum);
  }
}

template <class T, int kLanes>
void run(const T* blocks, std::int64_t rows, std::int64_t block, const T* x, T* y, Stream stream) {
  constexpr std::int64_t kRows = kThreads / kLanes * kRowsAtOnce;
  const auto grid = (rows + kRows - 1) / kRows;
  const auto kernel = block <= kLanes ? blocks_kernel<T, kLanes, true> : blocks_kernel<T, kLanes, false>;
  launch(kernel, grid, stream, blocks, rows, block, x, y);
}

}  // namespace

template <class T>
void multiply_blocks(const T* blocks, std::int64_t rows, std::int64_t block, const T* x, T* y,
                     Stream stream) {
  const UseDevice use(stream.where);
  if (block <= 1) run<T, 1>(blocks, rows, block, x, y, stream);
  else if (block <= 2) run<T, 2>(blocks, rows, block, x, y, stream);
  else if (block <= 4) run<T, 4>(blocks, rows, block, x, y, stream);
  else if (block <= 8) run<T, 8>(blocks, rows, block, x, y, stream);
  else if (block <= 16) run<T, 16>(blocks, rows, block, x, y, stream);
  else run<T, 32>(blocks, rows, block, x, y, stream);
}

template void multiply_blocks(const float*, std::int64_t, std::int64_t, const float*, float*, Stream);
template void multiply_blocks(const double*, std::int64_t, std::int64_t, const double*, double*, Stream);

}  // namespace penstock::gpu
