#pragma once
#include <span>

#include "penstock/format/packed.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// Consecutive blocks of a packed matrix: whole rows each, or one piece of a row alone.
struct PackedRun {
  std::span<const PackedBlock> blocks;  // in host memory
  const std::byte* bytes =
      nullptr;  // of the first of them, the others behind it; readable by whoever multiplies
};

/// y = alpha A x + beta y over a run of blocks, straight from the packed bytes. x has a.cols entries; y begins at the run's
/// first row, or is the one sum of a piece. The same bits in every run on the same kind of device. No y[i] is
/// written twice. On a GPU it takes scratch memory in the order of the stream: a value per row with entries, two a tile.
template <Semiring S, class V>
void spmv_packed(const PackedRun& run, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale, Stream stream);

/// The same over a whole matrix that is readable by `stream.where`, the pieces of long rows joined in order.
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
