// Shortest paths.
#include <nanobind/stl/optional.h>

#include <optional>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/sssp/packed_paths.hpp"
#include "penstock/graph/sssp/sssp.hpp"

namespace penstock::bind {
namespace {

nb::tuple bound_sssp(const Matrix& m, const PathWeights& weights, const ReadArray<Index>& sources,
                     double delta, double limit, bool predecessors) {
  return with_real(m, [&]<class V>(const Csr<V>& a) {
    SsspResult<Distance<V>> r;
    {
      const nb::gil_scoped_release release;
      r = sssp(a, weights, span_of(sources), {.delta = delta, .limit = limit, .predecessors = predecessors});
    }
    return nb::make_tuple(as_result(r.distances), predecessors ? as_result(r.predecessors) : nb::none());
  });
}

void bound_verify(const Matrix& m, const ReadArray<Index>& sources, const nb::object& distances,
                  std::optional<ReadArray<Index>> predecessors) {
  with_real(m, [&]<class V>(const Csr<V>& a) {
    const auto d = nb::cast<ReadArray<Distance<V>>>(distances);
    const nb::gil_scoped_release release;
    sssp_verify(a, span_of(sources), span_of(d),
                predecessors ? span_of(*predecessors) : std::span<const Index>());
  });
}

}  // namespace

void graph_paths(nb::module_& m) {
  nb::class_<PathWeights>(m, "PathWeights", "What the weights of one matrix are like, and their narrow form.")
      .def_ro("smallest", &PathWeights::smallest)
      .def_ro("largest", &PathWeights::largest)
      .def_ro("mean", &PathWeights::mean)
      .def_ro("finite", &PathWeights::finite)
      .def_prop_ro("nbytes", &PathWeights::bytes)
      .def_ro("symmetric", &PathWeights::symmetric,
              "Whether every edge has its mirror; None if nobody asked.")
      .def_prop_ro("packed_bits", &packed_weight_bits,
                   "Of each in packed lists; None where they cannot stand there.")
      .def("require_packed", &require_packed_weights, "Raises ValueError where packed_bits is None.");
  m.def(
      "path_weights",
      [](const Matrix& m, bool symmetric, bool narrow) {
        return with_real(m, [&](const auto& a) {
          const nb::gil_scoped_release release;
          return path_weights(a, {.symmetric = symmetric, .narrow = narrow});
        });
      },
      nb::arg("a"), nb::arg("symmetric") = false, nb::arg("narrow") = true,
      "What one pass over the weights finds. Raises ValueError that names the first negative or NaN weight.");
  m.def("sssp", bound_sssp, nb::arg("a"), nb::arg("weights"), nb::arg("sources"), nb::arg("delta"),
        nb::arg("limit"), nb::arg("predecessors"), "(distances, predecessors or None)");
  m.def("sssp_verify", bound_verify, nb::arg("a"), nb::arg("sources"), nb::arg("distances"),
        nb::arg("predecessors").none());
  m.def(
      "tree_roots",
      [](const ReadArray<Index>& sources, const ReadArray<Index>& predecessors) {
        return as_result(tree_roots(span_of(sources), span_of(predecessors)));
      },
      nb::arg("sources"), nb::arg("predecessors"));
}

}  // namespace penstock::bind
