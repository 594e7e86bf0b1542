// y = alpha A x + beta y for ELL-G (cardellini-2014, section III-A). A thread takes a row and stops at its end. The j-th
// entries of 32 rows lie side by side, so a warp reads whole lines. Each thread asks for four entries of its row before it
// needs the first.
#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spmv/complex_gpu.cuh"
#include "penstock/kernel/spmv/spmv_ell_g.hpp"

namespace penstock::gpu {
namespace {

constexpr int kAhead = 4;

/// The product of row `i` of a block that has `stride` rows, padding included.
template <class S, class V>
__device__ void multiply_row(const std::byte* bytes, std::int64_t columns_at, std::int64_t values_at,
                             std::int64_t stride, std::int64_t i,
                             const typename S::value_type* __restrict__ x,
                             typename S::value_type* __restrict__ y, const Scale<S>& scale) {
  using T = typename S::value_type;
  const int length = read_once(reinterpret_cast<const Index*>(bytes) + i);
  const Index* columns = reinterpret_cast<const Index*>(bytes + columns_at) + i;
  const V* values = reinterpret_cast<const V*>(bytes + values_at) + (is_pattern<V> ? 0 : i);
  const auto value_at = [&](int j) {
    if constexpr (is_pattern<V>) return entry<S>(values, 0);
    else {
      const V value = read_once(values + j * stride);
      return entry<S>(&value, 0);
    }
  };
  T sum = S::zero();
  int j = 0;
  for (; j + kAhead <= length; j += kAhead) {
    Index column[kAhead];
    T value[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      column[u] = read_once(columns + (j + u) * stride);
      value[u] = value_at(j + u);
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) value[u] = S::mul(value[u], x[column[u]]);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) sum = S::add(sum, value[u]);
  }
  for (; j < length; ++j) sum = S::add(sum, S::mul(value_at(j), x[read_once(columns + j * stride)]));
  *y = scale(sum, *y);
}

template <class S, class V>
__global__ void __launch_bounds__(kThreads)
    multiply_block(const std::byte* __restrict__ bytes, std::int64_t columns_at, std::int64_t values_at,
                   std::int64_t stride, std::int64_t rows, const typename S::value_type* __restrict__ x,
                   typename S::value_type* __restrict__ y, Scale<S> scale) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < rows) multiply_row<S, V>(bytes, columns_at, values_at, stride, i, x, y + i, scale);
}

template <class S, class V>
__global__ void __launch_bounds__(kThreads)
    multiply_all(const std::byte* __restrict__ bytes, const EllBlock* __restrict__ table,
                 std::int64_t block_rows, std::int64_t rows, const typename S::value_type* __restrict__ x,
                 typename S::value_type* __restrict__ y, Scale<S> scale) {
  const auto row = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= rows) return;
  // All rows of a thread block are in the same block of the matrix.
  const EllBlock& b = table[std::int64_t(blockIdx.x) * kThreads / block_rows];
  const auto stride = (b.rows + 31) / 32 * 32;
  const auto columns_at = stride * std::int64_t(sizeof(Index));
  multiply_row<S, V>(bytes + b.offset, columns_at, columns_at * (1 + b.width), stride, row - b.first_row, x,
                     y + row, scale);
}

}  // namespace

template <Semiring S, class V>
void spmv_ell_g(EllView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
                Stream stream) {
  using D = on_device<S>;
  if (a.rows == 0) return;
  const UseDevice use(stream.where);
  const auto at = a.layout();
  const Scale<D> gpu_scale{for_kernel_value(scale.alpha), for_kernel_value(scale.beta)};
  launch(multiply_block<D, on_device<V>>, blocks_for(a.rows), stream, a.bytes, at.columns, at.values,
         at.stride, a.rows, for_kernel(x), for_kernel(y), gpu_scale);
}

template <Semiring S, class V>
void spmv_ell_g(const EllG<V>& a, const EllBlock* table, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale, Stream stream) {
  using D = on_device<S>;
  if (a.rows == 0) return;
  require(blocks_for(a.rows) <= 0x7fffffff, "ELL-G on a GPU: too many rows for one launch");
  const UseDevice use(stream.where);
  const Scale<D> gpu_scale{for_kernel_value(scale.alpha), for_kernel_value(scale.beta)};
  launch(multiply_all<D, on_device<V>>, blocks_for(a.rows), stream, a.bytes.data, table, a.block_rows, a.rows,
         for_kernel(x), for_kernel(y), gpu_scale);
}

#define X(S, V)                                                                                         \
  template void spmv_ell_g<S, V>(EllView<V>, const S::value_type*, S::value_type*, Scale<S>, Stream);   \
  template void spmv_ell_g<S, V>(const EllG<V>&, const EllBlock*, const S::value_type*, S::value_type*, \
                                 Scale<S>, Stream);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock::gpu
