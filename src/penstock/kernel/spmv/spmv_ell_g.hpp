#pragma once
#include "penstock/format/ell_g.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// A block of an EllG where a kernel can read it.
template <class V>
struct EllView {
  std::int64_t rows = 0, width = 0;
  const std::byte* bytes = nullptr;  // 128-byte aligned

  EllLayout<V> layout() const { return {rows, width}; }
};

/// y = alpha A x + beta y over one block, by the CPU's calling thread or a GPU. y is the block's own rows.
template <Semiring S, class V>
void spmv_ell_g(EllView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
                Stream stream);

/// The whole matrix: on the CPU by all threads; on a GPU, whose memory holds `a`, one launch, for which `table` is
/// ell_table's.
template <Semiring S, class V>
void spmv_ell_g(const EllG<V>& a, const Array<const EllBlock>& table, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale, Stream stream);

/// The blocks' positions in the GPU's memory; nothing for the CPU. Waits for the stream.
template <class V>
Array<const EllBlock> ell_table(const EllG<V>& a, Stream stream);

namespace cpu {
/// Rows [first, last) of a block.
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
