// Triangles, trusses and betweenness: the edges of a matrix of any value type.
#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/betweenness/betweenness.hpp"
#include "penstock/graph/triangles/triangles.hpp"
#include "penstock/graph/truss/truss.hpp"

namespace penstock::bind {
namespace {

/// The edges alone, sharing their memory.
Csr<One> pattern_of(const Matrix& m) {
  edges_of(m);  // throws where the CPU cannot read the matrix
  return std::visit([](const auto& a) { return Csr<One>{a.rows, a.cols, a.indptr, a.indices, {}}; }, m.any());
}

}  // namespace

void graph_counts(nb::module_& m) {
  nb::class_<OrientedEdges>(m, "OrientedEdges",
                            "The edges of a graph, each once, as triangles are counted over.")
      .def_prop_ro("renumbered", [](const OrientedEdges& e) { return e.vertex.size > 0; });
  m.def(
      "orient_edges",
      [](const Matrix& m) {
        const auto a = pattern_of(m);
        const nb::gil_scoped_release release;
        return orient_edges(a);
      },
      nb::arg("a"), "a is simple and symmetric");
  m.def(
      "triangles",
      [](const OrientedEdges& edges, bool of_vertex) {
        Triangles r;
        {
          const nb::gil_scoped_release release;
          r = count_triangles(edges, of_vertex);
        }
        return nb::make_tuple(r.total, of_vertex ? as_result(r.of_vertex) : nb::none());
      },
      nb::arg("edges"), nb::arg("of_vertex"), "(total, one count a vertex or None)");
  m.def(
      "triangles_verify",
      [](const Matrix& m, const ReadArray<std::int64_t>& of_vertex, std::int64_t budget, std::uint64_t seed) {
        const auto a = edges_of(m);
        const nb::gil_scoped_release release;
        return triangles_verify(a, span_of(of_vertex), budget, seed);
      },
      nb::arg("a"), nb::arg("of_vertex"), nb::arg("budget"), nb::arg("seed"),
      "How many vertices were counted anew");
  m.def(
      "triangles_recount",
      [](const Matrix& m) {
        const auto a = edges_of(m);
        const nb::gil_scoped_release release;
        return triangles_recount(a);
      },
      nb::arg("a"));
  m.def(
      "truss_numbers",
      [](const Matrix& m) {
        const auto a = edges_of(m);
        Array<Index> r;
        {
          const nb::gil_scoped_release release;
          r = truss_numbers(a);
        }
        return as_result(r);
      },
      nb::arg("a"), "One for each entry; a is simple and symmetric");
  m.def(
      "betweenness",
      [](const Matrix& m, const ReadArray<Index>& sources, bool endpoints) {
        const auto a = edges_of(m);
        Array<double> r;
        {
          const nb::gil_scoped_release release;
          r = betweenness(a, span_of(sources), {.endpoints = endpoints});
        }
        return as_result(r);
      },
      nb::arg("a"), nb::arg("sources"), nb::arg("endpoints"), "a has no duplicates and no self loops");
  m.def(
      "edge_betweenness",
      [](const Matrix& m, const ReadArray<Index>& sources) {
        const auto a = edges_of(m);
        Array<double> r;
        {
          const nb::gil_scoped_release release;
          r = edge_betweenness(a, span_of(sources));
        }
        return as_result(r);
      },
      nb::arg("a"), nb::arg("sources"), "a has no duplicates");
  m.def(
      "betweenness_verify",
      [](const Matrix& m, const ReadArray<Index>& sources, const ReadArray<Index>& vertices,
         const ReadArray<double>& sums, bool endpoints, double tol) {
        const auto a = edges_of(m);
        const nb::gil_scoped_release release;
        betweenness_verify(a, span_of(sources), span_of(vertices), span_of(sums), {.endpoints = endpoints},
                           tol);
      },
      nb::arg("a"), nb::arg("sources"), nb::arg("vertices"), nb::arg("sums"), nb::arg("endpoints"),
      nb::arg("tol"));
}

}  // namespace penstock::bind
