// Triangles and betweenness: the edges of a matrix of any value type.
#include <nanobind/stl/optional.h>

#include <optional>

#include "penstock/bind/graph.hpp"
#include "penstock/graph/betweenness.hpp"
#include "penstock/graph/triangles.hpp"

namespace penstock::bind {

void graph_counts(nb::module_& m) {
  m.def("triangles", [](const Matrix& m, bool of_vertex) {
    const auto a = edges_of(m);
    Triangles r;
    {
      const nb::gil_scoped_release release;
      r = count_triangles(a, of_vertex);
    }
    return nb::make_tuple(r.total, of_vertex ? as_result(r.of_vertex) : nb::none());
  }, nb::arg("a"), nb::arg("of_vertex"), "(total, one count a vertex or None); a's pattern is symmetric");
  m.def("triangles_verify", [](const Matrix& m, std::int64_t total, std::optional<ReadArray<std::int64_t>> of_vertex,
                               std::int64_t samples, std::uint64_t seed) {
    const auto a = edges_of(m);
    const nb::gil_scoped_release release;
    triangles_verify(a, total, of_vertex ? span_of(*of_vertex) : std::span<const std::int64_t>(), samples, seed);
  }, nb::arg("a"), nb::arg("total"), nb::arg("of_vertex").none(), nb::arg("samples"), nb::arg("seed"));
  m.def("betweenness", [](const Matrix& m, const ReadArray<Index>& sources, bool endpoints) {
    const auto a = edges_of(m);
    Array<double> r;
    {
      const nb::gil_scoped_release release;
      r = betweenness(a, span_of(sources), {.endpoints = endpoints});
    }
    return as_result(r);
  }, nb::arg("a"), nb::arg("sources"), nb::arg("endpoints"), "a has no duplicates and no self loops");
  m.def("betweenness_verify", [](const Matrix& m, const ReadArray<Index>& sources, const ReadArray<double>& centrality,
                                 bool endpoints, double tol) {
    const auto a = edges_of(m);
    const nb::gil_scoped_release release;
    betweenness_verify(a, span_of(sources), span_of(centrality), {.endpoints = endpoints}, tol);
  }, nb::arg("a"), nb::arg("sources"), nb::arg("centrality"), nb::arg("endpoints"), nb::arg("tol"));
}

}  // namespace penstock::bind
