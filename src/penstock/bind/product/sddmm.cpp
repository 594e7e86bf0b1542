// The sampled dense-dense product.
#include "penstock/kernel/spmm/sddmm.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/core/error.hpp"

namespace penstock::bind {
namespace {

/// By A's values where V is their type, and without them where it is One.
template <class T, class V>
bool try_sddmm(const Matrix& m, const AnyColumns& x, const AnyColumns& y, const nb::object& out,
               const nb::object& alpha, const nb::object& beta, bool by_values) {
  if (x.dtype() != nb::dtype<T>()) return false;
  CsrView<V> a;
  const bool found = std::visit(
      [&]<class W>(const Csr<W>& c) {
        if (!std::same_as<V, W> && !(is_pattern<V> && !by_values)) return false;
        require_host(c, "sddmm");
        a = {.rows = c.rows,
             .cols = c.cols,
             .indptr = c.indptr.data,
             .indices = c.indices.data,
             .count = c.nnz()};
        if constexpr (std::same_as<V, W>)
          if (by_values) a.values = c.values.data;
        return by_values || is_pattern<V>;
      },
      m.any());
  if (!found) return false;
  const auto values = nb::cast<WriteArray<T>>(out);
  const auto xs = as_view<const T>(x), ys = as_view<const T>(y);
  require(y.dtype() == nb::dtype<T>() && xs.rows == a.rows && ys.rows == a.cols && xs.cols == ys.cols &&
              static_cast<std::int64_t>(values.shape(0)) == a.count,
          "sddmm: shapes or types differ");
  const auto scale = scale_of<PlusTimes<T>>(alpha, beta);
  const nb::gil_scoped_release release;
  sddmm<T, V>(a, xs, ys, values.data(), scale.alpha, scale.beta);
  return true;
}

void product(const Matrix& a, const AnyColumns& x, const AnyColumns& y, const nb::object& out,
             const nb::object& alpha, const nb::object& beta, bool by_values) {
#define X(T, V) \
  if (try_sddmm<T, V>(a, x, y, out, alpha, beta, by_values)) return;
  PENSTOCK_FOR_EACH_SDDMM(X)
#undef X
  throw Error(Errc::not_compiled, "sddmm: no kernel for these value types");
}

}  // namespace

void sddmm_products(nb::module_& m) {
  m.def("sddmm", product, nb::arg("a"), nb::arg("x"), nb::arg("y"), nb::arg("out"),
        nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(), nb::arg("by_values") = false,
        "out = alpha (X Y^T) at A's entries, times A's values if asked, + beta out.");
}

}  // namespace penstock::bind
