// Random walks.
#include <nanobind/stl/optional.h>

#include <optional>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/bind/graph/graph_packed.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/sample/walks.hpp"

namespace penstock::bind {
namespace {

using Weights = std::optional<ReadArray<double>>;

/// The largest weights, one a row; empty where they are not read.
std::span<const double> largest_of(const Weights& largest, std::int64_t rows, bool weighted) {
  if (!weighted) return {};
  require(largest && static_cast<std::int64_t>(largest->shape(0)) == rows,
          "walks: weighted ones need the largest weight of each row");
  return bind::span_of(*largest);
}

nb::object bound_walks(const Matrix& m, const ReadArray<Index>& starts, const Weights& largest,
                       std::int64_t length, double restart, bool weighted, double p, double q, bool symmetric,
                       std::uint64_t seed) {
  return with_real(m, [&]<class V>(const Csr<V>& a) {
    const auto from = bind::span_of(starts);
    const auto most = largest_of(largest, a.rows, weighted && !is_pattern<V>);
    for (const auto v : from) require(v >= 0 && v < a.rows, "random_walks: a start is outside the graph");
    require(a.rows == a.cols, "random_walks: the matrix is not square");
    Array<Index> walks;
    {
      const nb::gil_scoped_release release;
      walks = graph::random_walks(a, from, most, {length, restart, weighted, p, q, symmetric, seed});
    }
    return as_result(walks);
  });
}

nb::object bound_packed_walks(const BoundPackedLists& lists, const ReadArray<Index>& starts,
                              std::int64_t length, double restart, std::uint64_t seed) {
  const auto rows = graph::rows_of(*lists.any());
  const auto from = bind::span_of(starts);
  for (const auto v : from) require(v >= 0 && v < rows.rows, "packed_walks: a start is outside the graph");
  Array<Index> walks;
  {
    const nb::gil_scoped_release release;
    walks = graph::packed_walks(rows, from, {.length = length, .restart = restart, .seed = seed});
  }
  return as_result(walks);
}

nb::object bound_ends(const Matrix& m, Index source, std::int64_t walks, double damping,
                      const Weights& largest, bool weighted, std::uint64_t seed) {
  return with_real(m, [&]<class V>(const Csr<V>& a) {
    require(a.rows == a.cols && source >= 0 && source < a.rows, "walk_ends: the source is outside the graph");
    require(damping >= 0 && damping < 1, "walk_ends: damping is below 1");
    const auto most = largest_of(largest, a.rows, weighted && !is_pattern<V>);
    Array<Index> ends;
    {
      const nb::gil_scoped_release release;
      ends = graph::walk_ends(a, source, walks, damping, most, weighted, seed);
    }
    return as_result(ends);
  });
}

}  // namespace

void graph_walks(nb::module_& m) {
  using nb::arg;
  m.def(
      "largest_weights",
      [](const Matrix& m) {
        return with_real(m, [](const auto& a) {
          Array<double> largest;
          {
            const nb::gil_scoped_release release;
            largest = graph::largest_weights(a);
          }
          return as_result(largest);
        });
      },
      arg("a"), "The largest weight of each row; ValueError for one that is negative or not finite.");
  m.def("random_walks", bound_walks, arg("a"), arg("starts"), arg("largest").none(), arg("length"),
        arg("restart"), arg("weighted"), arg("p"), arg("q"), arg("symmetric"), arg("seed"),
        "The walks one behind the other. With p or q the rows ascend without repeats.");
  m.def("packed_walks", bound_packed_walks, arg("lists"), arg("starts"), arg("length"), arg("restart"),
        arg("seed"),
        "The uniform walks of random_walks, over the packed lists of a matrix whose rows ascend.");
  m.def("walk_ends", bound_ends, arg("a"), arg("source"), arg("walks"), arg("damping"), arg("largest").none(),
        arg("weighted"), arg("seed"), "Where walks end, distributed as the PageRank.");
}

}  // namespace penstock::bind
