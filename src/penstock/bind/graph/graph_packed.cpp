// Packed neighbour lists: made on the CPU, searched there or on a GPU.
#include "penstock/bind/graph/graph_packed.hpp"

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/bfs/bfs_packed.hpp"

namespace penstock::bind {

void graph_packed(nb::module_& m) {
  nb::class_<BoundPackedLists>(m, "PackedLists",
                               "The neighbour lists of a graph in a packed form, any of which "
                               "can be read alone.")
      .def("facts",
           [](const BoundPackedLists& p) {
             const auto& lists = *p.lists;
             nb::dict d;
             d["vertices"] = lists.vertices, d["edges"] = lists.edges, d["bytes"] = lists.bytes();
             d["head_bytes"] = lists.head_bytes(), d["list_bytes"] = lists.words.bytes();
             d["tables"] = 1 << lists.table_bits, d["repeats"] = lists.repeats, d["sorted"] = lists.sorted;
             d["seconds"] = lists.seconds;
             return d;
           })
      .def(
          "unpack",
          [](const BoundPackedLists& p) {
            Array<Offset> offsets;
            Array<Index> columns;
            {
              const nb::gil_scoped_release release;
              offsets = allocate<Offset>(p.lists->vertices + 1);
              columns = allocate<Index>(p.lists->edges);
              unpack_lists(*p.lists, offsets.data, columns.data);
            }
            return nb::make_tuple(as_result(offsets), as_result(columns));
          },
          "(offsets, ascending columns) of all lists")
      .def(
          "bfs",
          [](const BoundPackedLists& p, Index source) {
            Array<Index> levels;
            {
              const nb::gil_scoped_release release;
              levels = bfs_packed(*p.lists, source);
            }
            return as_result(levels);
          },
          nb::arg("source"), "Levels, by one thread of the CPU.");
  m.def(
      "pack_lists",
      [](const Matrix& a) {
        const auto edges = edges_of(a);
        const nb::gil_scoped_release release;
        return BoundPackedLists{std::make_shared<const PackedLists>(pack_lists(edges))};
      },
      nb::arg("a"), "The packed lists of a square matrix in host memory, each in ascending order.");
  m.def(
      "estimate_packed",
      [](const Matrix& a) {
        const auto edges = edges_of(a);
        const nb::gil_scoped_release release;
        return estimate_packed(edges);
      },
      nb::arg("a"), "About as many bytes as pack_lists(a) would have, from some lists.");
}

}  // namespace penstock::bind
