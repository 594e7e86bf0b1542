// Orders of vertices, as int32 permutations.
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/reorder.hpp"

namespace penstock::bind {
namespace {

/// f(pattern) of the matrix, without the interpreter's lock.
template <class F>
auto order_of_pattern(const Matrix& a, F&& f) {
  return std::visit(
      [&](const auto& c) {
        require_host({c.indptr.place, c.indices.place}, "an order of vertices");
        const nb::gil_scoped_release release;
        return f(Csr<One>{c.rows, c.cols, c.indptr, c.indices, {}});
      },
      a.any());
}

}  // namespace

void reorder(nb::module_& m) {
  m.def(
      "reverse_cuthill_mckee",
      [](const Matrix& a) {
        return as_numpy<Index>(
            order_of_pattern(a, [](const Csr<One>& c) { return reverse_cuthill_mckee(c); }));
      },
      nb::arg("a"));
  m.def(
      "degree_order",
      [](const Matrix& a, bool descending) {
        return as_numpy<Index>(
            order_of_pattern(a, [&](const Csr<One>& c) { return degree_order(c, descending); }));
      },
      nb::arg("a"), nb::arg("descending"));
  m.def(
      "bandwidth",
      [](const Matrix& a) { return order_of_pattern(a, [](const Csr<One>& c) { return bandwidth(c); }); },
      nb::arg("a"));
}

}  // namespace penstock::bind
