#include "penstock/dist/product/staged_product.hpp"

namespace penstock {

template <class V>
template <Semiring S>
void StagedProduct<V>::multiply_columns(const typename S::value_type* x, typename S::value_type* y,
                                        std::int64_t columns, Scale<S> scale, bool transposed, int times) {
  using T = typename S::value_type;
  const auto& a = matrix();
  const auto row_bytes = columns * static_cast<std::int64_t>(sizeof(T));
  const auto x_bytes = (transposed ? a.rows() : a.cols()) * row_bytes;
  const auto y_bytes = (transposed ? a.cols() : a.rows()) * row_bytes;
  auto* x_there = reinterpret_cast<T*>(stage_.place_for_x(x, x_bytes));
  auto* y_there = reinterpret_cast<T*>(stage_.place_for_y(y, y_bytes));
  const auto queue = [&] {
    stage_.copy(x_there, x, x_bytes);
    if (!(scale.beta == S::zero())) stage_.copy(y_there, y, y_bytes);
    for (int i = 0; i < times; ++i)
      if (transposed)
        on_device_.template multiply_columns_transposed<S>(x_there, y_there, columns, scale, stage_.stream());
      else on_device_.template multiply_columns<S>(x_there, y_there, columns, scale, stage_.stream());
  };
  stage_.run(
      *a.comm, "a distributed product", queue, [&] { stage_.copy(y, y_there, y_bytes); },
      [&] { on_device_.abandon(); });
}

#define X(S, V)                                                                                           \
  template void StagedProduct<V>::multiply_columns<S>(const S::value_type*, S::value_type*, std::int64_t, \
                                                      Scale<S>, bool, int);
PENSTOCK_FOR_EACH_DIST(X)
#undef X

}  // namespace penstock
