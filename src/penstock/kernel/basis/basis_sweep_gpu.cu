#include "penstock/kernel/basis/basis_sweep.hpp"
#include "penstock/kernel/launch_gpu.cuh"

// A thread has the same columns in all parts of a sweep, so it reads what it has written itself. Blocks leave their parts of
// the sums in memory, and the one that arrives last adds them up in their order.
namespace penstock::gpu {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kMet = 8;  // rows that meet v at once, so that v is read less often

/// parts[r * stride] = the sum of sums[r] over the block, for r below `rows`, which is at most R.
template <int R>
__device__ void leave_sums(double (&sums)[R], int rows, double (&cells)[kMet][kWarps], double* parts,
                           std::int64_t stride) {
#pragma unroll
  for (int r = 0; r < R; ++r)
    for (int d = 16; d > 0; d /= 2) sums[r] += __shfl_down_sync(kAll, sums[r], d);
  __syncthreads();  // the cells may still be read from the rows before
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (int r = 0; r < R; ++r) cells[r][threadIdx.x / 32] = sums[r];
  __syncthreads();
  if (threadIdx.x >= unsigned(rows)) return;
  double sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += cells[threadIdx.x][w];
  parts[threadIdx.x * stride] = sum;
  __threadfence();  // visible before this block arrives
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    basis_sweep_kernel(BasisSweep<T> s, std::int64_t n, double* parts, unsigned* arrived) {
  __shared__ double cells[kMet][kWarps];
  __shared__ bool last;
  const auto step = std::int64_t(gridDim.x) * kThreads;
  const auto begin = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  double square[1] = {};
  for (auto j = begin; j < n; j += step) {
    T x = s.v[j];
#pragma unroll 8
    for (std::int64_t i = 0; i < s.taken.count; ++i) x -= T(s.f[i]) * s.taken.data[i * s.taken.stride + j];
    if (s.taken.count) s.v[j] = x;
    square[0] += double(x) * double(x);
  }
  for (std::int64_t i = 0; i < s.met.count; i += kMet) {
    const int rows = int(s.met.count - i < kMet ? s.met.count - i : kMet);
    const T* q = s.met.data + i * s.met.stride;
    double sums[kMet] = {};
    for (auto j = begin; j < n; j += step) {
      const auto x = double(s.v[j]);
#pragma unroll
      for (int r = 0; r < kMet; ++r)
        if (r < rows) sums[r] += double(q[r * s.met.stride + j]) * x;
    }
    leave_sums(sums, rows, cells, parts + i * gridDim.x + blockIdx.x, gridDim.x);
  }
  leave_sums(square, 1, cells, parts + s.met.count * gridDim.x + blockIdx.x, gridDim.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (std::int64_t row = threadIdx.x / 32; row <= s.met.count; row += kWarps) {
    double sum = 0;
    for (unsigned b = threadIdx.x % 32; b < gridDim.x; b += 32) sum += __ldcg(parts + row * gridDim.x + b);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(kAll, sum, d);
    if (threadIdx.x % 32 == 0) s.h[row] = sum;
  }
  if (threadIdx.x == 0) *arrived = 0;
}

/// A layer of the grid has kTurned results, a thread a column of each.
template <class T>
__global__ void __launch_bounds__(kThreads)
    turn_kernel(VectorRows<const T> rows, const T* __restrict__ y, std::int64_t columns, VectorRows<T> to) {
  const auto j = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= to.n) return;
  const auto c = std::int64_t(blockIdx.y) * kTurned;
  T sums[kTurned] = {};
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const T x = rows.data[i * rows.stride + j];
#pragma unroll
    for (int l = 0; l < kTurned; ++l) sums[l] += y[i * columns + c + l] * x;
  }
#pragma unroll
  for (int l = 0; l < kTurned; ++l) to.data[(c + l) * to.stride + j] = sums[l];
}

template <class T>
__global__ void __launch_bounds__(kThreads) copy_rows_kernel(VectorRows<const T> from, VectorRows<T> to) {
  const auto j = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j < to.n) to.data[blockIdx.y * to.stride + j] = from.data[blockIdx.y * from.stride + j];
}

}  // namespace

template <class T>
void basis_sweep(const BasisSweep<T>& s, double* parts, unsigned* arrived, Stream stream) {
  const UseDevice use(stream.where);
  launch(basis_sweep_kernel<T>, basis_blocks(s.met.n), stream, s, s.met.n, parts, arrived);
}

template <class T>
void turn_rows(const VectorRows<T>& rows, const T* y, std::int64_t q, const VectorRows<T>& scratch,
               Stream stream) {
  const UseDevice use(stream.where);
  const auto layers = (q + kTurned - 1) / kTurned, columns = layers * kTurned;
  for (std::int64_t first = 0; first < rows.n; first += scratch.n) {
    const auto n = std::min(scratch.n, rows.n - first);
    const VectorRows<const T> from{rows.data + first, rows.count, rows.stride, n};
    const VectorRows<T> turned{scratch.data, columns, scratch.stride, n};
    launch_layers(turn_kernel<T>, blocks_for(n), unsigned(layers), stream, from, y, columns, turned);
    launch_layers(copy_rows_kernel<T>, blocks_for(n), unsigned(q), stream,
                  VectorRows<const T>{scratch.data, q, scratch.stride, n},
                  VectorRows<T>{rows.data + first, q, rows.stride, n});
  }
}

#define X(T)                                                                      \
  template void basis_sweep<T>(const BasisSweep<T>&, double*, unsigned*, Stream); \
  template void turn_rows<T>(const VectorRows<T>&, const T*, std::int64_t, const VectorRows<T>&, Stream);
X(float)
X(double)
#undef X

}  // namespace penstock::gpu
