// Shortest paths over weights of any sign.
#include <nanobind/stl/vector.h>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/sssp/bellman_ford.hpp"
#include "penstock/graph/sssp/weights.hpp"

namespace penstock::bind {
namespace {

nb::tuple bound_bellman_ford(const Matrix& m, const ReadArray<Index>& sources, bool together,
                             bool predecessors) {
  return with_real(m, [&]<class V>(const Csr<V>& a) {
    BellmanFord r;
    {
      const nb::gil_scoped_release release;
      r = together ? bellman_ford(a, span_of(sources), predecessors)
                   : bellman_ford_each(a, span_of(sources), predecessors);
    }
    return nb::make_tuple(as_result(r.distances), predecessors ? as_result(r.predecessors) : nb::none(),
                          r.cycle);
  });
}

}  // namespace

void graph_negative(nb::module_& m) {
  m.def(
      "least_weight",
      [](const Matrix& m) {
        return with_real(m, [](const auto& a) {
          const nb::gil_scoped_release release;
          return least_weight(a);
        });
      },
      nb::arg("a"), "Raises ValueError that names the first weight that is NaN or minus infinity.");
  m.def("bellman_ford", bound_bellman_ford, nb::arg("a"), nb::arg("sources"), nb::arg("together"),
        nb::arg("predecessors"),
        "(distances, predecessors or None, a negative cycle or []): one row of n for each source, or one for "
        "all "
        "together");
}

}  // namespace penstock::bind
