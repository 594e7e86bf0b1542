// Samples of subgraphs: a table of vertices a type, and hops that add to it.
#include <nanobind/stl/optional.h>

#include <optional>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/bind/graph/graph_packed.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/sample/neighbours.hpp"

namespace penstock::bind {
namespace {

using graph::VertexTable;
using Times = std::optional<ReadArray<std::int64_t>>;

std::span<const std::int64_t> times_of(const Times& times) {
  return times ? bind::span_of(*times) : std::span<const std::int64_t>();
}

nb::object copied(std::span<const std::int64_t> some) {
  const auto out = allocate<std::int64_t>(std::ssize(some));
  std::ranges::copy(some, out.data);
  return as_result(out);
}

nb::tuple bound_hop(const Matrix& m, const VertexTable& from, std::int64_t first, std::int64_t last,
                    VertexTable& to, std::int64_t fanout, bool replace, bool weighted, std::uint64_t seed,
                    std::uint64_t relation, const Times& times, const Times& seed_times,
                    const BoundPackedLists* packed) {
  graph::PackedRows rows;
  if (packed) {
    rows = graph::rows_of(*packed->any());
    m.guard().require_whole();
  }
  // What is read by offsets that nobody has checked must be no more than the offsets; columns are checked by reading all of them.
  const bool offsets_alone = packed && !weighted && !times;
  return with_real(offsets_alone ? m.unread() : m.any(), [&]<class V>(const Csr<V>& a) {
    require(0 <= first && first <= last && last <= from.size(), "sample_hop: outside the table of vertices");
    require(a.rows == from.universe() && a.cols == to.universe() && from.disjoint() == to.disjoint(),
            "sample_hop: the tables are not for this matrix");
    const graph::HopTimes hop_times{times_of(times), times_of(seed_times)};
    require(!times || (std::ssize(hop_times.edges) == a.nnz() && from.disjoint()),
            "sample_hop: times are one an edge, for disjoint samples");
    if (times)
      for (const auto seed_number : from.seeds().subspan(at(first), at(last - first)))
        require(seed_number < std::ssize(hop_times.seeds), "sample_hop: too few times of seeds");
    require(!packed || (rows.rows == a.rows && a.rows == a.cols),
            "sample_hop: the packed lists are not of this matrix");
    graph::HopEdges hop;
    {
      const nb::gil_scoped_release release;
      hop = graph::sample_hop(a, from, first, last, to, {fanout, replace, weighted, seed, relation},
                              hop_times, packed ? &rows : nullptr);
    }
    return nb::make_tuple(as_result(hop.rows), as_result(hop.columns), as_result(hop.edges));
  });
}

}  // namespace

void graph_neighbours(nb::module_& m) {
  using nb::arg;
  nb::class_<VertexTable>(m, "VertexTable",
                          "The vertices of a sample, in the order in which they were found.")
      .def(nb::init<std::int64_t, bool>(), arg("universe"), arg("disjoint"))
      .def(
          "add_seeds",
          [](VertexTable& t, const ReadArray<std::int64_t>& some, std::int64_t first_seed) {
            t.add_seeds(bind::span_of(some), first_seed);
          },
          arg("some"), arg("first_seed") = 0)
      .def_prop_ro("size", &VertexTable::size)
      .def_prop_ro("vertices", [](const VertexTable& t) { return copied(t.vertices()); })
      .def_prop_ro("seeds", [](const VertexTable& t) { return copied(t.seeds()); });
  m.def("sample_hop", bound_hop, arg("a"), arg("table"), arg("first"), arg("last"), arg("into"),
        arg("fanout"), arg("replace"), arg("weighted"), arg("seed"), arg("relation") = 0,
        arg("times").none() = nb::none(), arg("seed_times").none() = nb::none(),
        arg("lists").none() = nb::none(),
        "(rows, columns, edges) drawn of the vertices [first, last); columns are read from the packed "
        "`lists` of a, "
        "whose rows ascend, if there are any.");
}

}  // namespace penstock::bind
