// Triples to a matrix.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/coo.hpp"

namespace penstock::bind {
namespace {

template <class V>
bool try_assemble(const CooView<One>& c, const AnyArray& values, const CooOptions& options, AnyCsr& out) {
  if (values.dtype() != nb::dtype<V>()) return false;
  const CooView<V> coo{c.rows, c.cols, c.entries, c.row, c.col, static_cast<const V*>(values.data())};
  const nb::gil_scoped_release release;
  out = coo_to_csr(coo, options);
  return true;
}

Matrix convert(std::int64_t rows, std::int64_t cols, const AnyArray& row, const AnyArray& col,
               const nb::object& values, bool sum_duplicates, const std::string& mirror) {
  const auto n = static_cast<std::int64_t>(row.shape(0));
  require(static_cast<std::int64_t>(col.shape(0)) == n, "row has " + std::to_string(n) + " entries and col " +
                                                            std::to_string(col.shape(0)) +
                                                            ": they must match");
  const CooView<One> coo{rows, cols, n, indices_of(row, "row"), indices_of(col, "col"), nullptr};
  const CooOptions options{.sum_duplicates = sum_duplicates, .mirror = mirror_of(mirror)};
  if (values.is_none()) {
    const nb::gil_scoped_release release;
    return {coo_to_csr(coo, options)};
  }
  const auto any = nb::cast<AnyArray>(values);
  require(static_cast<std::int64_t>(any.shape(0)) == n, "values has " + std::to_string(any.shape(0)) +
                                                            " entries and row " + std::to_string(n) +
                                                            ": they must match");
  AnyCsr out;
  if (try_assemble<float>(coo, any, options, out) || try_assemble<double>(coo, any, options, out) ||
      try_assemble<Complex64>(coo, any, options, out) || try_assemble<Complex128>(coo, any, options, out))
    return {std::move(out)};
  throw Error(Errc::invalid_argument,
              "values must be float32, float64, complex64 or complex128: convert them with astype");
}

}  // namespace

void coo(nb::module_& m) {
  m.def("coo_to_csr", convert, nb::arg("rows"), nb::arg("cols"), nb::arg("row"), nb::arg("col"),
        nb::arg("values").none(), nb::arg("sum_duplicates") = true, nb::arg("mirror") = "none");
}

}  // namespace penstock::bind
