// Random lifts, written by a GPU: a thread takes one entry of copy 0 to some of the copies, so that neighbouring threads write
// side by side.
#include <algorithm>
#include <complex>

#include "penstock/io/generate/generate_lift.hpp"
#include "penstock/kernel/launch_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr unsigned kMostLayers = 65535;

template <class V>
__global__ void __launch_bounds__(kThreads)
    write_entries(LiftView a, Offset nnz, std::int64_t copies_each, const Index* __restrict__ rows_of,
                  const V* __restrict__ from, Index* __restrict__ indices, V* __restrict__ values) {
  const auto k = Offset(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= nnz) return;
  const auto first = std::int64_t(blockIdx.y) * copies_each;
  const auto last = first + copies_each < a.copies ? first + copies_each : a.copies;
  const auto column = a.columns[k];
  const std::int64_t row = rows_of[k];
  for (auto copy = first; copy < last; ++copy) {
    const LiftedRow lifted(a, copy, row);
    const auto to = copy * nnz + lifted.place(k);
    indices[to] = lifted.column(column, k);
    if constexpr (!is_pattern<V>) values[to] = from[k];
  }
}

__global__ void __launch_bounds__(kThreads)
    write_offsets(LiftView a, Offset nnz, std::int64_t count, Offset* __restrict__ indptr) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const auto copy = a.rows == 0 ? 0 : i / a.rows;
  indptr[i] = copy * nnz + (copy == a.copies ? 0 : a.indptr[i - copy * a.rows]);
}

}  // namespace

template <class V>
void write_lift(const LiftView& a, Offset nnz, const Index* rows_of, const V* from, Offset* indptr,
                Index* indices, V* values, Stream stream) {
  const auto count = a.rows * a.copies + 1;
  launch(write_offsets, blocks_for(count), stream, a, nnz, count, indptr);
  if (nnz == 0) return;
  // Where A is small, copies are shared out, too.
  const auto blocks = blocks_for(nnz);
  const auto wanted = std::min({4 * full_grid(stream) / blocks + 1, a.copies, std::int64_t{kMostLayers}});
  const auto each = (a.copies + wanted - 1) / wanted;
  launch_layers(write_entries<V>, blocks, unsigned((a.copies + each - 1) / each), stream, a, nnz, each,
                rows_of, from, indices, values);
}

#define X(V) \
  template void write_lift(const LiftView&, Offset, const Index*, const V*, Offset*, Index*, V*, Stream);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock::gpu
