// Matrices from matrices: the transpose, and what changes entries without a product.
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/symmetric.hpp"
#include "penstock/kernel/transpose.hpp"

namespace penstock::bind {
namespace {

template <class V>
void require_host(const Csr<V>& a, const std::string& what) {
  for (const Place place : {a.indptr.place, a.indices.place, a.values.place})
    if (!can_read(Where{}, place))
      throw Error(Errc::not_accessible, what + " reads the matrix on the CPU, but it is in " +
                                            std::string(name(place.memory)) + " memory: move it to the host first");
}

/// f(csr) for the matrix that it holds, without the interpreter's lock; a matrix again.
template <class F>
Matrix made(const Matrix& a, const char* what, F&& f) {
  return std::visit([&](const auto& c) -> Matrix {
    require_host(c, what);
    const nb::gil_scoped_release release;
    return {AnyCsr(f(c))};
  }, a.any);
}

template <class V>
Csr<One> pattern_of(const Csr<V>& a) {
  return {a.rows, a.cols, a.indptr, a.indices, {}};
}

}  // namespace

void structure(nb::module_& m) {
  m.def("transpose", [](const Matrix& a) {
    return made(a, "transpose", [](const auto& c) { return transpose(c); });
  }, nb::arg("a"));
  m.def("has_symmetric_pattern", [](const Matrix& a) {
    return std::visit([](const auto& c) {
      require_host(c, "has_symmetric_pattern");
      const nb::gil_scoped_release release;
      return has_symmetric_pattern(pattern_of(c));
    }, a.any);
  }, nb::arg("a"));
}

}  // namespace penstock::bind
