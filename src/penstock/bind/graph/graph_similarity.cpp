// Neighbours that vertices share.
#include <nanobind/stl/string.h>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/similarity/similarity.hpp"

namespace penstock::bind {

void graph_similarity(nb::module_& m) {
  m.def(
      "shared_sums",
      [](const Matrix& m, const ReadArray<Index>& u, const ReadArray<Index>& v,
         const ReadArray<double>& weight) {
        const auto a = edges_of(m);
        Array<double> r;
        {
          const nb::gil_scoped_release release;
          r = shared_sums(a, span_of(u), span_of(v), span_of(weight));
        }
        return as_result(r);
      },
      nb::arg("a"), nb::arg("u"), nb::arg("v"), nb::arg("weight"),
      "Rows of a ascend strictly; an empty weight counts");
  m.def(
      "similarity",
      [](const Matrix& m, const ReadArray<Index>& u, const ReadArray<Index>& v, const std::string& measure) {
        const auto a = edges_of(m);
        const auto by = measure_named(measure);
        Array<double> r;
        {
          const nb::gil_scoped_release release;
          r = similarity(a, span_of(u), span_of(v), by);
        }
        return as_result(r);
      },
      nb::arg("a"), nb::arg("u"), nb::arg("v"), nb::arg("measure"), "a is simple and symmetric");
  m.def(
      "most_similar",
      [](const Matrix& m, const ReadArray<Index>& some, std::int64_t k, const std::string& measure,
         bool neighbours) {
        const auto a = edges_of(m);
        const MostSimilarOptions o{.measure = measure_named(measure), .k = k, .neighbours = neighbours};
        MostSimilar r;
        {
          const nb::gil_scoped_release release;
          r = most_similar(a, span_of(some), o);
        }
        return nb::make_tuple(as_result(r.vertices), as_result(r.scores));
      },
      nb::arg("a"), nb::arg("some"), nb::arg("k"), nb::arg("measure"), nb::arg("neighbours"),
      "(k vertices for each, their scores), one after the other; a is simple and symmetric");
}

}  // namespace penstock::bind
