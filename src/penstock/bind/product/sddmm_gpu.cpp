// The sampled dense-dense product on a GPU, queued on a caller's stream.
#include "penstock/kernel/spmm/sddmm_gpu.hpp"

#include <nanobind/stl/string.h>

#include "penstock/bind/product/product.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"

namespace penstock::bind {
namespace {

using Address = std::uintptr_t;

/// A dense factor as its library says where it is: its rows are contiguous and begin `step` entries apart.
struct RowsAt {
  Address first;
  std::int64_t step;
};

template <class T, class V>
bool try_sddmm_gpu(const Matrix& m, RowsAt x, RowsAt y, std::int64_t width, Address out,
                   const std::string& dtype, const nb::object& alpha, const nb::object& beta, Stream stream,
                   bool by_values) {
  if (dtype != dtype_name<T>()) return false;
  CsrView<V> a;
  const bool found = std::visit(
      [&]<class W>(const Csr<W>& c) {
        if (!std::same_as<V, W> && !(is_pattern<V> && !by_values)) return false;
        for (const Place place :
             {c.indptr.place, c.indices.place, is_pattern<V> ? c.indices.place : c.values.place})
          if (!can_read(stream.where, place))
            throw Error(Errc::not_accessible, "sddmm_gpu: the matrix is in " +
                                                  std::string(name(place.memory)) + " memory, and GPU " +
                                                  std::to_string(stream.where.gpu) +
                                                  " is asked for: move it there with A.to(ps.device(" +
                                                  std::to_string(stream.where.gpu) + "))");
        a = {.rows = c.rows,
             .cols = c.cols,
             .indptr = c.indptr.data,
             .indices = c.indices.data,
             .count = c.nnz()};
        if constexpr (std::same_as<V, W>) a.values = c.values.data;
        return true;
      },
      m.any());
  if (!found) return false;
  const auto scale = scale_of<PlusTimes<T>>(alpha, beta);
  const auto rows_at = [&](RowsAt r, std::int64_t rows) {
    return DenseView<const T>{reinterpret_cast<const T*>(r.first), rows, width, r.step, 1};
  };
  const nb::gil_scoped_release release;
  sddmm_on<T, V>(a, rows_at(x, a.rows), rows_at(y, a.cols), reinterpret_cast<T*>(out), scale.alpha,
                 scale.beta, stream);
  return true;
}

void sampled(const Matrix& a, Address x, std::int64_t x_step, Address y, std::int64_t y_step,
             std::int64_t width, Address out, const std::string& dtype, const nb::object& alpha,
             const nb::object& beta, int gpu, Address stream, bool by_values) {
  require(gpu >= -1 && width >= 0, "sddmm_gpu: gpu = " + std::to_string(gpu) + ", width = " +
                                       std::to_string(width) + "; give a GPU (-1: the CPU) and 0 or more");
  if (gpu >= 0 && !have_cuda) no_cuda("sddmm on a GPU");
  const Stream on{reinterpret_cast<void*>(stream), Where{gpu}};
#define X(T, V) \
  if (try_sddmm_gpu<T, V>(a, {x, x_step}, {y, y_step}, width, out, dtype, alpha, beta, on, by_values)) return;
  PENSTOCK_FOR_EACH_SDDMM(X)
#undef X
  throw Error(Errc::not_compiled,
              "sddmm: no kernel for X and Y of " + dtype + " and the values of this matrix");
}

}  // namespace

void sddmm_gpu(nb::module_& m) {
  m.def(
      "sddmm_gpu", sampled, nb::arg("a"), nb::arg("x"), nb::arg("x_step"), nb::arg("y"), nb::arg("y_step"),
      nb::arg("width"), nb::arg("out"), nb::arg("dtype"), nb::arg("alpha") = nb::none(),
      nb::arg("beta") = nb::none(), nb::arg("gpu") = 0, nb::arg("stream") = 0, nb::arg("by_values") = false,
      "`sddmm` for X, Y and out at addresses that the GPU reads and writes, as the matrix is; their rows are "
      "contiguous and begin `step` entries apart. It is queued on the stream, and the call returns. gpu=-1: "
      "the CPU, which has computed then.");
}

}  // namespace penstock::bind
