#pragma once
#include "penstock/format/ell_g.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// A block of an EllG in memory that a kernel can read.
template <class V>
struct EllView {
  std::int64_t rows = 0, width = 0;
  const std::byte* bytes = nullptr;  // 128-byte aligned

  EllLayout<V> layout() const { return {rows, width}; }
};

/// y = alpha A x + beta y over one block, by the calling thread of the CPU or by a GPU. y has the block's rows only.
template <Semiring S, class V>
void spmv_ell_g(EllView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
                Stream stream);

/// The product of a whole matrix: on the CPU by all threads, on a GPU, whose memory holds `a`, by one launch. `table` is that
/// of ell_table().
template <Semiring S, class V>
void spmv_ell_g(const EllG<V>& a, const Array<const EllBlock>& table, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale, Stream stream);

/// The list of blocks in the GPU's memory; empty for the CPU. Waits for the stream.
template <class V>
Array<const EllBlock> ell_table(const EllG<V>& a, Stream stream);

namespace cpu {
/// The product of rows [first, last) of a block.
template <Semiring S, class V>
void spmv_ell_g(EllView<V> a, std::int64_t first, std::int64_t last, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale);
}  // namespace cpu
namespace gpu {
template <Semiring S, class V>
void spmv_ell_g(EllView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
                Stream stream);
template <Semiring S, class V>
void spmv_ell_g(const EllG<V>& a, const EllBlock* table, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale, Stream stream);
}  // namespace gpu

}  // namespace penstock
