#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmm/add_transposed.hpp"

namespace penstock {

template <class T, class V>
void add_transposed_on(const CsrView<V>& a, DenseView<const T> x, DenseView<T> y, T alpha, Stream stream) {
  require(x.row_major() && y.row_major() && x.cols == y.cols && a.count >= 0,
          "Y += A^T X: the view states its count of nonzeros, X and Y are row-major and equally wide");
  if (!stream.where.is_gpu()) return add_transposed<T, V>(a, x, y, alpha);
  if constexpr (have_cuda) gpu::add_transposed<T, V>(a, x, y, alpha, stream);
  else no_cuda("a transposed product on a GPU");
}

#define X(T, V) \
  template void add_transposed_on<T, V>(const CsrView<V>&, DenseView<const T>, DenseView<T>, T, Stream);
PENSTOCK_FOR_EACH_REAL_BLOCK(X)
#undef X

}  // namespace penstock
