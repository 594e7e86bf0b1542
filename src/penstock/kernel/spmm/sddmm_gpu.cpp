#include "penstock/kernel/spmm/sddmm_gpu.hpp"

#include "penstock/core/config.hpp"

namespace penstock {

template <class T, class V>
void sddmm_on(CsrView<V> a, DenseView<const T> x, DenseView<const T> y, T* out, T alpha, T beta,
              Stream stream) {
  if (!stream.where.is_gpu()) return sddmm<T, V>(a, x, y, out, alpha, beta);
  if constexpr (have_cuda) gpu::sddmm<T, V>(a, x, y, out, alpha, beta, stream);
  else no_cuda("sddmm on a GPU");
}

#define X(T, V) \
  template void sddmm_on<T, V>(CsrView<V>, DenseView<const T>, DenseView<const T>, T*, T, T, Stream);
PENSTOCK_FOR_EACH_SDDMM(X)
#undef X

}  // namespace penstock
