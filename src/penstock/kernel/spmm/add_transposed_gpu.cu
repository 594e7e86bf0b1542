// Y += alpha A^T X on a GPU: entry (i, j) of A adds alpha a_ij times row i of X to row j of Y. A group of lanes takes a fixed number of
// neighbouring entries, so long and short rows cost alike. It holds the row of X in registers while entries are of that row,
// and adds to whole lines of Y, which the second-level cache does without an answer.
#include <algorithm>
#include <cstdint>

#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spmm/add_transposed.hpp"

namespace penstock::gpu {
namespace {

constexpr int kEntries = 64;  // of a group
constexpr int kReps = 2;      // columns of a lane

/// The row of entry `at`, counted as indptr counts: the last one that begins there or before.
__device__ std::int64_t row_of(const Offset* indptr, std::int64_t rows, Offset at) {
  std::int64_t low = 0, high = rows;  // indptr[low] <= at < indptr[high]
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    if (indptr[middle] <= at) low = middle;
    else high = middle;
  }
  return low;
}

template <class T, class V, int kLanes>
__global__ void __launch_bounds__(kThreads)
    add_entries(CsrView<V> a, DenseView<const T> x, DenseView<T> y, T alpha) {
  const int lane = int(threadIdx.x) % kLanes;
  const unsigned group_mask =
      kLanes == 32 ? kAll : ((1u << (kLanes % 32)) - 1) << (threadIdx.x % 32 / kLanes * kLanes);
  const auto group = (std::int64_t(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
  const auto first = a.indptr[0] + group * kEntries, end = min(first + kEntries, a.indptr[0] + a.count);
  if (first >= end) return;
  const auto column = std::int64_t(blockIdx.y) * kLanes * kReps + lane;
  auto row = row_of(a.indptr, a.rows, first);
  auto row_end = a.indptr[row + 1];
  T xs[kReps];
  const auto take = [&] {
#pragma unroll
    for (int r = 0; r < kReps; ++r)
      if (column + r * kLanes < x.cols) xs[r] = alpha * x.data[row * x.row_step + column + r * kLanes];
  };
  take();
  for (auto k = first; k < end; k += kLanes) {
    Index some = 0;
    T value = T(1);
    if (k + lane < end) {
      some = read_once(a.indices + (k + lane - a.first_nnz));
      if constexpr (!is_pattern<V>) value = T(read_once(a.values + (k + lane - a.first_nnz)));
    }
    const int count = int(min(std::int64_t(kLanes), end - k));
    for (int i = 0; i < count; ++i) {
      if (k + i >= row_end) {
        while (k + i >= row_end) row_end = a.indptr[++row + 1];
        take();
      }
      const auto to = __shfl_sync(group_mask, some, i, kLanes) * y.row_step;
      const T v = __shfl_sync(group_mask, value, i, kLanes);
#pragma unroll
      for (int r = 0; r < kReps; ++r)
        if (column + r * kLanes < y.cols) atomicAdd(y.data + to + column + r * kLanes, v * xs[r]);
    }
  }
}

template <class T, class V, int kLanes>
void run(const CsrView<V>& a, const DenseView<const T>& x, const DenseView<T>& y, T alpha, Stream stream) {
  const auto groups = (a.count + kEntries - 1) / kEntries;
  const auto layers = (y.cols + kLanes * kReps - 1) / (kLanes * kReps);
  launch_layers(add_entries<T, V, kLanes>, blocks_for(groups * kLanes), unsigned(layers), stream, a, x, y,
                alpha);
}

}  // namespace

template <class T, class V>
void add_transposed(CsrView<V> a, DenseView<const T> x, DenseView<T> y, T alpha, Stream stream) {
  if (a.count == 0 || y.cols == 0) return;
  const UseDevice use(stream.where);
  if (y.cols <= 8) return run<T, V, 4>(a, x, y, alpha, stream);
  if (y.cols <= 16) return run<T, V, 8>(a, x, y, alpha, stream);
  if (y.cols <= 32) return run<T, V, 16>(a, x, y, alpha, stream);
  run<T, V, 32>(a, x, y, alpha, stream);
}

#define X(T, V) template void add_transposed<T, V>(CsrView<V>, DenseView<const T>, DenseView<T>, T, Stream);
PENSTOCK_FOR_EACH_REAL_BLOCK(X)
#undef X

}  // namespace penstock::gpu
