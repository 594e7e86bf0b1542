#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spgemm/spgemm_expected.hpp"

namespace penstock::gpu {
namespace {

/// Adds x and y up over the block; its first thread gets the sums.
__device__ void sum_block(double& x, double& y) {
  __shared__ double xs[kThreads / 32], ys[kThreads / 32];
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    x += __shfl_down_sync(kAll, x, d);
    y += __shfl_down_sync(kAll, y, d);
  }
  if (threadIdx.x % 32 == 0) xs[threadIdx.x / 32] = x, ys[threadIdx.x / 32] = y;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kThreads / 32; ++w) x += xs[w], y += ys[w];
}

__global__ void __launch_bounds__(kThreads)
    parts_kernel(const Offset* products, std::int64_t rows, double cols, double* parts) {
  double sum = 0, entries = 0;
  for (auto r = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; r < rows;
       r += std::int64_t(gridDim.x) * kThreads) {
    const Offset n = products[r];
    sum += double(n), entries += expected_entries(n, cols);
  }
  sum_block(sum, entries);
  if (threadIdx.x == 0) parts[2 * blockIdx.x] = sum, parts[2 * blockIdx.x + 1] = entries;
}

__global__ void __launch_bounds__(kThreads)
    sums_kernel(const double* parts, std::int64_t count, double* out) {
  double sum = 0, entries = 0;
  for (std::int64_t p = threadIdx.x; p < count; p += kThreads)
    sum += parts[2 * p], entries += parts[2 * p + 1];
  sum_block(sum, entries);
  if (threadIdx.x == 0) out[0] = sum, out[1] = entries;
}

}  // namespace

void expected_parts(const Offset* products, std::int64_t rows, std::int64_t cols, double* parts,
                    Stream stream) {
  const UseDevice use(stream.where);
  launch(parts_kernel, kExpectedParts, stream, products, rows, double(cols), parts);
}

void expected_sums(const double* parts, std::int64_t count, double* out, Stream stream) {
  const UseDevice use(stream.where);
  launch(sums_kernel, 1, stream, parts, count, out);
}

}  // namespace penstock::gpu
