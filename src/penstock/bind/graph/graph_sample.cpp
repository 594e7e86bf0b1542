// Samples of neighbours: made on the CPU, kept in stores, handed to GPUs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/graph/gpu/neighbour_sample.hpp"

namespace penstock::bind {

SampleOf sample_named(const std::string& kind) {
  if (kind == "highest_degree") return SampleOf::highest_degree;
  require(kind == "first", "kind=\"" + kind + "\" is unknown: choose highest_degree or first");
  return SampleOf::first;
}

NeighbourSample sample_from(const nb::object& given) {
  if (given.is_none()) return {};
  const auto [size, kind, slots] = nb::cast<std::tuple<int, std::string, ReadArray<std::uint32_t>>>(given);
  Guard::of(share<std::uint32_t>(slots)).require_whole();
  return {size, sample_named(kind), share<std::uint32_t>(slots)};
}

nb::object as_object(const NeighbourSample& sample) {
  if (sample.size == 0) return nb::none();
  return nb::make_tuple(sample.size, std::string(name(sample.kind)), as_numpy(sample.slots));
}

void graph_sample(nb::module_& m) {
  m.def(
      "sample_neighbours",
      [](const Matrix& a, int size, const std::string& kind) {
        const auto edges = edges_of(a);
        const auto of = sample_named(kind);
        NeighbourSample sample;
        {
          const nb::gil_scoped_release release;
          sample = sample_neighbours(edges, size, of);
        }
        return as_object(sample);
      },
      nb::arg("a"), nb::arg("size") = 4, nb::arg("kind") = "highest_degree",
      "(slots a vertex, kind, slots as uint32): as a GPU makes it, bit for bit.");
  m.def(
      "check_sample",
      [](const Matrix& a, const nb::object& sample, bool every) {
        const auto given = sample_from(sample);
        a.guard().require_whole();
        // Of a few lists the sample itself makes sure that they are whole.
        const auto edges = every ? edges_of(a) : edges_in(a.unread());
        const nb::gil_scoped_release release;
        check_sample(edges, given, every);
      },
      nb::arg("a"), nb::arg("sample"), nb::arg("every"),
      "Raises ValueError unless it is the sample of a; without `every` a few vertices are looked at.");
}

}  // namespace penstock::bind
