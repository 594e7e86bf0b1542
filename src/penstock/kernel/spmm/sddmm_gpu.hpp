#pragma once
#include "penstock/core/device.hpp"
#include "penstock/kernel/spmm/sddmm.hpp"

namespace penstock {

namespace gpu {

/// sddmm() on `stream.where`, queued on the stream. X and Y are row-major with any row step, and the GPU can read them and A,
/// and write `out`. a.count must be stated. The bits are the same in every run; whether rows of X and Y begin at multiples of
/// 16 bytes decides the order in which an inner product is added up.
template <class T, class V>
void sddmm(CsrView<V> a, DenseView<const T> x, DenseView<const T> y, T* out, T alpha, T beta, Stream stream);

}  // namespace gpu

/// The product on any stream; on the CPU it is sddmm. Throws Error{not_compiled} for a GPU in a build without CUDA.
template <class T, class V>
void sddmm_on(CsrView<V> a, DenseView<const T> x, DenseView<const T> y, T* out, T alpha, T beta,
              Stream stream);

}  // namespace penstock
