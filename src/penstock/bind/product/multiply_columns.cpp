// Products with several vectors at once.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/product/cusparse.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/spmm/spmm_normal.hpp"
#include "penstock/schedule/multiply_columns.hpp"
#include "penstock/schedule/streamed_blocks.hpp"

namespace penstock::bind {
namespace {

template <class S, class V, class F>
bool try_columns(const Matrix& m, const AnyColumns& x, const nb::object& y, std::string_view semiring,
                 const nb::object& alpha, const nb::object& beta, F product) {
  using T = typename S::value_type;
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  const auto out = nb::cast<nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::device::cpu>>(y);
  const auto scale = scale_of<S>(alpha, beta);
  const auto xs = as_view<const T>(x);
  const auto ys = as_view<T>(out);
  const nb::gil_scoped_release release;
  product(*a, xs, ys, scale);
  return true;
}

nb::object product_columns(const Matrix& a, const AnyColumns& x, const nb::object& y,
                           std::optional<AnySchedule> asked, const std::string& algorithm,
                           const std::string& semiring, const nb::object& alpha, const nb::object& beta,
                           std::int64_t device_memory, bool traced) {
  if (algorithm == "cusparse")
    return product_cusparse(a, nb::cast(x), y, asked, semiring, alpha, beta, traced);
  Trace trace;
  const auto schedule = asked.value_or(AnySchedule{InCore{}});
  const auto wish = wished(algorithm, schedule);
  const auto run = [&]<class S, class V>(const Csr<V>& csr, auto xs, auto ys, Scale<S> scale) {
    if (runs_on_cpu(schedule.value))
      multiply_columns<S, V>(csr, xs, ys, std::get<SpmvPlans<V>>(*a.plans), wish, scale, &trace);
    else multiply_columns<S, V>(csr, xs, ys, schedule.value, scale, &trace, device_memory);
  };
#define X(S, V) \
  if (try_columns<S, V>(a, x, y, semiring, alpha, beta, run)) return as_event(trace, traced);
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

nb::object product_columns_transposed(const Matrix& a, const AnyColumns& x, const nb::object& y,
                                      const std::string& semiring, const nb::object& alpha,
                                      const nb::object& beta, bool traced) {
  Trace trace;
  const auto run = [&]<class S, class V>(const Csr<V>& csr, auto xs, auto ys, Scale<S> scale) {
    require(xs.rows == csr.rows && ys.rows == csr.cols && xs.cols == ys.cols, "transposed: shapes differ");
    check_matrix(InCore{}, csr);
    const ScopedTimer timer(&trace.seconds);
    spmm_transposed<S, V>(csr.view(), xs, ys, scale);
    trace.schedule = "in_core", trace.kernel = "transposed", trace.tiles = 1;
    trace.kernel_bytes =
        least_bytes(csr, std::int64_t(sizeof(typename S::value_type)) * xs.cols, !(scale.beta == S::zero()));
  };
#define X(S, V) \
  if (try_columns<S, V>(a, x, y, semiring, alpha, beta, run)) return as_event(trace, traced);
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

template <class T, class V>
bool try_normal(const Matrix& m, const AnyColumns& x, const nb::object& z, double factor, Trace& trace) {
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || x.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  const auto out = nb::cast<nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::device::cpu>>(z);
  check_matrix(InCore{}, *a);
  const nb::gil_scoped_release release;
  const ScopedTimer timer(&trace.seconds);
  spmm_normal<T, V>(a->view(), as_view<const T>(x), as_view<T>(out), factor);
  trace.schedule = "in_core", trace.kernel = "normal", trace.tiles = 1;
  trace.kernel_bytes = least_bytes(*a, std::int64_t(sizeof(T)) * std::int64_t(x.shape(1)), false);
  return true;
}

nb::object product_normal(const Matrix& a, const AnyColumns& x, const nb::object& z, double factor,
                          bool traced) {
  Trace trace;
#define X(T, V) \
  if (try_normal<T, V>(a, x, z, factor, trace)) return as_event(trace, traced);
  PENSTOCK_FOR_EACH_SDDMM(X)
#undef X
  no_kernel("plus_times");
}

}  // namespace

void multiply_columns(nb::module_& m) {
  m.def("product_columns", product_columns, nb::arg("a"), nb::arg("x"), nb::arg("y"),
        nb::arg("schedule") = nb::none(), nb::arg("algorithm") = "auto", nb::arg("semiring") = "plus_times",
        nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(), nb::arg("device_memory") = 0,
        nb::arg("traced") = true,
        "Y = alpha A X + beta Y, X and Y of any strides; otherwise as product. device_memory: what a GPU may "
        "hold, 0 for what is free.");
  m.def("product_columns_transposed", product_columns_transposed, nb::arg("a"), nb::arg("x"), nb::arg("y"),
        nb::arg("semiring") = "plus_times", nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(),
        nb::arg("traced") = true);
  m.def("product_normal", product_normal, nb::arg("a"), nb::arg("x"), nb::arg("z"), nb::arg("factor"),
        nb::arg("traced") = true,
        "Z = factor^2 A^H A X on the CPU in one walk over A; X and Z are row-major.");
  m.def(
      "reused_bytes",
      [](std::int64_t bytes) {
        auto* owner = new std::shared_ptr<void>(reuse_bytes(bytes));
        const nb::capsule keep(owner,
                               [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
        return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(owner->get(),
                                                                 {static_cast<std::size_t>(bytes)}, keep);
      },
      nb::arg("bytes"),
      "Uninitialised bytes for a large result, in the pages of an earlier one where there was one.");
}

}  // namespace penstock::bind
