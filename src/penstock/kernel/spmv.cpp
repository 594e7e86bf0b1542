#include "penstock/kernel/spmv.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"

namespace penstock {

template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream) {
  if (!stream.where.is_gpu()) return cpu::spmv<S, V>(a, x, y, scale);
  if constexpr (have_cuda) gpu::spmv<S, V>(a, x, y, scale, stream);
  else throw Error(Errc::not_compiled, "spmv on a GPU: this build has no CUDA");
}

#define X(S, V) template void spmv<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>, Stream);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
