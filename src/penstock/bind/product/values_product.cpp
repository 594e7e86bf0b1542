// Products of a matrix's structure with values at an address: what learns its values has others at every product.
#include <nanobind/stl/string.h>

#include "penstock/bind/product/product.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmm/sddmm.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"

namespace penstock::bind {
namespace {

/// The operands, whose types are named by text.
struct ValuesProduct {
  CsrView<One> structure;
  std::uintptr_t values, x, y;
  std::int64_t x_step, y_step, width;
  Stream stream;
};

template <class T, class V>
bool try_values_product(const ValuesProduct& p, const std::string& values_dtype, const std::string& dtype) {
  if constexpr (is_pattern<V>) {
    return false;
  } else {
    if (dtype != dtype_name<T>() || values_dtype != dtype_name<V>()) return false;
    const auto& s = p.structure;
    const CsrView<V> a{.rows = s.rows,
                       .cols = s.cols,
                       .indptr = s.indptr,
                       .indices = s.indices,
                       .values = reinterpret_cast<const V*>(p.values),
                       .count = s.count};
    const DenseView<const T> x{reinterpret_cast<const T*>(p.x), a.cols, p.width, p.x_step, 1};
    const DenseView<T> y{reinterpret_cast<T*>(p.y), a.rows, p.width, p.y_step, 1};
    const nb::gil_scoped_release release;
    spmm_on<PlusTimes<T>, V>(a, x, y, {}, p.stream);
    return true;
  }
}

void of_values(const Matrix& m, std::uintptr_t values, const std::string& values_dtype, std::uintptr_t x,
               std::int64_t x_step, std::uintptr_t y, std::int64_t y_step, std::int64_t width,
               const std::string& dtype, int gpu, std::uintptr_t stream) {
  require(gpu >= -1 && width >= 0, "values_product: gpu = " + std::to_string(gpu) + ", width = " +
                                       std::to_string(width) + "; give a GPU (-1: the CPU) and 0 or more");
  if (gpu >= 0 && !have_cuda) no_cuda("values on a GPU");
  const ValuesProduct p{std::visit(
                            [&](const auto& c) {
                              for (const Place place : {c.indptr.place, c.indices.place})
                                if (!can_read(Where{gpu}, place))
                                  throw Error(Errc::not_accessible,
                                              "values_product: the matrix is in " +
                                                  std::string(name(place.memory)) + " memory, and GPU " +
                                                  std::to_string(gpu) +
                                                  " is asked for: move it there with A.to(ps.device(" +
                                                  std::to_string(gpu) + "))");
                              return CsrView<One>{.rows = c.rows,
                                                  .cols = c.cols,
                                                  .indptr = c.indptr.data,
                                                  .indices = c.indices.data,
                                                  .count = c.nnz()};
                            },
                            m.any()),
                        values,
                        x,
                        y,
                        x_step,
                        y_step,
                        width,
                        {reinterpret_cast<void*>(stream), Where{gpu}}};
#define X(T, V) \
  if (try_values_product<T, V>(p, values_dtype, dtype)) return;
  PENSTOCK_FOR_EACH_SDDMM(X)
#undef X
  throw Error(Errc::not_compiled,
              "values_product: no kernel for values of " + values_dtype + " and X of " + dtype);
}

}  // namespace

void values_product(nb::module_& m) {
  m.def(
      "values_product", of_values, nb::arg("a"), nb::arg("values"), nb::arg("values_dtype"), nb::arg("x"),
      nb::arg("x_step"), nb::arg("y"), nb::arg("y_step"), nb::arg("width"), nb::arg("dtype"),
      nb::arg("gpu") = 0, nb::arg("stream") = 0,
      "Y = B X, where B has a's structure and the values at an address, on a GPU that reads and writes all "
      "of "
      "them. Rows of X and Y are contiguous and begin `step` entries apart. It is queued on the stream, and "
      "the call returns. gpu=-1: the CPU, which has computed then.");
}

}  // namespace penstock::bind
