#pragma once
#include <span>

#include "penstock/format/packed.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// Consecutive blocks of a packed matrix: whole rows each, or one piece of a row alone.
struct PackedRun {
  std::span<const PackedBlock> blocks;  // in host memory
  // The bytes of the first block, which those of the others follow. The device that multiplies can read them.
  const std::byte* bytes = nullptr;
};

/// y = alpha A x + beta y over a run of blocks, straight from the packed bytes. x has a.cols entries. y begins with the run's
/// first row, or is the single sum of a piece. The bits are the same in every run on the same kind of device. No y[i] is
/// written twice. On a GPU it takes scratch memory in the order of the stream: a value for each row with entries, and two for
/// each tile.
template <Semiring S, class V>
void spmv_packed(const PackedRun& run, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale, Stream stream);

/// The product of a whole matrix that `stream.where` can read. The pieces of long rows are added in order.
template <Semiring S, class V>
void spmv_packed(const Packed<V>& a, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale, Stream stream);

namespace cpu {
template <Semiring S, class V>
void spmv_packed(const PackedRun& run, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale);
}
namespace gpu {
template <Semiring S, class V>
void spmv_packed(const PackedRun& run, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale, Stream stream);
/// y = scale(sum of the cells in order, y), all on the GPU.
template <Semiring S>
void join_cells(const typename S::value_type* cells, std::int64_t count, typename S::value_type* y,
                Scale<S> scale, Stream stream);
}  // namespace gpu

}  // namespace penstock
