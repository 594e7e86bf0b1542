#pragma once
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spmv/spmv.hpp"

// Products of matrices that stay in the second-level cache between calls. The time of such a product is a chain of latencies,
// and the shortest chain is a few threads a row, with all their loads under way at once. Rows that are too long for them get
// a block each.
namespace penstock::gpu {

/// Rows with more entries get a block. cnr-2000 in float64 with 4 threads a row took 22.0 us with a limit of 128 entries, 20.4
/// with 64, and 64 with 32.
constexpr Offset row_limit(int lanes) { return lanes > 4 ? Offset(16) * lanes : 64; }

/// Reads data that the next call will need again.
template <class T>
__device__ T read_kept(const T* p) {
  if constexpr (std::is_arithmetic_v<T>) return __ldg(p);
  else return *p;
}

/// The sum of every `step`-th product of a row's entries, from `first` on, with kAhead loads of each array under way.
template <class S, class V, class T = typename S::value_type>
__device__ T sum_entries(const CsrView<V>& a, const T* x, Offset first, Offset end, int step) {
  constexpr int kAhead = 4;
  T sum = S::zero();
  for (Offset k = first; k < end; k += Offset(kAhead) * step) {
    Index column[kAhead];
    T value[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const Offset at = k + Offset(i) * step;
      column[i] = at < end ? read_kept(a.indices + at) : -1;
      if constexpr (is_pattern<V>) {
        value[i] = entry<S>(a.values, 0);
      } else {
        const V v = at < end ? read_kept(a.values + at) : V();
        value[i] = entry<S>(&v, 0);
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      if (column[i] >= 0) sum = S::add(sum, S::mul(value[i], x[column[i]]));
  }
  return sum;
}

/// The first blocks take one of `long_rows` each; the others take all rows that are not longer than row_limit(lanes).
template <class S, class V>
__global__ void __launch_bounds__(kThreads)
    multiply_rows(CsrView<V> a, const typename S::value_type* __restrict__ x,
                  typename S::value_type* __restrict__ y, Scale<S> scale, int lanes,
                  const Index* __restrict__ long_rows, Index long_count) {
  using T = typename S::value_type;
  follow();
  const Offset base = a.first_nnz;
  if (Index(blockIdx.x) < long_count) {
    __shared__ T parts[kThreads / 32];
    const Index row = long_rows[blockIdx.x];
    const Offset begin = a.indptr[row] - base, end = a.indptr[row + 1] - base;
    T sum = sum_lanes<S>(sum_entries<S>(a, x, begin + threadIdx.x, end, kThreads), 32);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int w = 1; w < kThreads / 32; ++w) sum = S::add(sum, parts[w]);
    y[row] = scale(sum, y[row]);
    return;
  }
  const int lane = int(threadIdx.x) % lanes;
  const auto row = (std::int64_t(blockIdx.x) - long_count) * (kThreads / lanes) + int(threadIdx.x) / lanes;
  Offset begin = 0, end = 0;
  if (row < a.rows) begin = a.indptr[row] - base, end = a.indptr[row + 1] - base;
  const bool mine = row < a.rows && end - begin <= row_limit(lanes);
  T sum = S::zero();
  if (mine) sum = sum_entries<S>(a, x, begin + lane, end, lanes);
  sum = sum_lanes<S>(sum, lanes);
  if (mine && lane == 0) y[row] = scale(sum, y[row]);
}

/// Lists the rows that are longer than `limit`, in any order, and counts them in *count.
inline __global__ void __launch_bounds__(kThreads)
    list_long_rows(const Offset* __restrict__ indptr, std::int64_t rows, Offset limit, Index* list,
                   Index* count) {
  const auto row = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (row < rows && indptr[row + 1] - indptr[row] > limit) list[atomicAdd(count, 1)] = Index(row);
}

}  // namespace penstock::gpu
