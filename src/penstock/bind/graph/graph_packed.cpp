// Packed neighbour lists: made on the CPU, taken apart for a file and put together again, searched there or on a GPU.
#include "penstock/bind/graph/graph_packed.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/bfs/bfs_packed.hpp"
#include "penstock/graph/cc/cc.hpp"
#include "penstock/graph/gpu/pack_gpu.hpp"
#include "penstock/graph/sssp/packed_paths.hpp"

namespace penstock::bind {
namespace {

nb::dict facts_of(const BoundPackedLists& p) {
  const auto& lists = *p.unread();
  nb::dict d;
  d["vertices"] = lists.vertices, d["edges"] = lists.edges, d["bytes"] = lists.bytes();
  d["head_bytes"] = lists.head_bytes(), d["list_bytes"] = lists.words.bytes();
  d["length_bits"] = lists.length_bits, d["lengths"] = lists.lengths;
  d["tables"] = 1 << lists.table_bits, d["repeats"] = lists.repeats, d["sorted"] = lists.sorted;
  d["place"] = std::string(name(lists.words.place.memory)), d["seconds"] = lists.seconds;
  return d;
}

/// What is no array: the number of edges, the tables, and what is known of all lists.
using Note = std::tuple<Offset, std::array<std::uint32_t, kPackedTables>, int, bool, bool>;

nb::tuple to_arrays(const BoundPackedLists& p) {
  const auto& lists = *p.any();
  require(!lists.lengths, "packed lists with lengths have no form in files: take those without");
  std::array<std::uint32_t, kPackedTables> tables;
  std::copy_n(lists.tables, kPackedTables, tables.begin());
  return nb::make_tuple(as_numpy(lists.bases), as_numpy(lists.heads), as_numpy(lists.words),
                        as_numpy(lists.long_ends),
                        Note{lists.edges, tables, lists.table_bits, lists.repeats, lists.sorted});
}

BoundPackedLists from_arrays(const ReadArray<std::uint64_t>& bases, const ReadArray<std::uint32_t>& heads,
                             const ReadArray<std::uint32_t>& words, const ReadArray<std::int64_t>& long_ends,
                             const Note& note, bool mapped, const std::string& check,
                             const std::string& source) {
  require(check == "all" || check == "first_use" || check == "cheap",
          "check=\"" + check + "\" is not all, first_use or cheap");
  const Place place{mapped ? Memory::mapped : Memory::host};
  PackedLists lists;
  lists.vertices = std::int64_t(heads.shape(0));
  lists.bases = share(bases, place), lists.heads = share(heads, place);
  lists.words = share(words, place), lists.long_ends = share(long_ends, place);
  const auto& [edges, tables, bits, repeats, sorted] = note;
  std::copy(tables.begin(), tables.end(), lists.tables);
  lists.edges = edges, lists.table_bits = bits, lists.repeats = repeats, lists.sorted = sorted;
  BoundPackedLists out(std::move(lists));
  const auto given = out.unread();
  const auto named = [source, given](auto test) {
    try {
      test(*given);
    } catch (const Error& e) {
      if (e.code() != Errc::invalid_argument) throw;
      throw Error(e.code(), source + ": " + e.what() +
                                ": the packed lists are damaged, save the store again with lists=True");
    }
  };
  out.guard().require_whole();
  const nb::gil_scoped_release release;
  named(check == "all" ? check_packed : check_sizes);
  if (check == "first_use") out.check_first([named] { named(check_packed); });
  return out;
}

/// Bit for bit, whoever packed them.
bool same_lists(const PackedLists& a, const PackedLists& b) {
  const auto same = [](const auto& x, const auto& y) {
    return std::equal(x.data, x.data + x.size, y.data, y.data + y.size);
  };
  return a.vertices == b.vertices && a.first == b.first && a.edges == b.edges && same(a.bases, b.bases) &&
         same(a.heads, b.heads) && same(a.words, b.words) && same(a.long_ends, b.long_ends) &&
         std::equal(a.tables, a.tables + kPackedTables, b.tables) && a.table_bits == b.table_bits &&
         a.repeats == b.repeats && a.lengths == b.lengths && a.length_bits == b.length_bits &&
         a.length_least == b.length_least;
}

struct Views {
  graph::PackedRows out, in;
};
Views views(const BoundPackedLists& out, const BoundPackedLists* in) {
  return {graph::rows_of(*out.any()), graph::rows_of(*(in ? *in : out).any())};
}

nb::tuple search(const BoundPackedLists& out, const BoundPackedLists* in, Index source, BfsPlan& plan,
                 bool predecessors) {
  const auto rows = views(out, in);
  BfsResult r;
  {
    const nb::gil_scoped_release release;
    r = bfs(PackedGraph{rows.out, in ? &rows.in : nullptr}, source, plan, {.predecessors = predecessors});
  }
  return nb::make_tuple(as_result(r.levels), predecessors ? as_result(r.predecessors) : nb::none(), r.missed);
}

nb::tuple components(const BoundPackedLists& out, const BoundPackedLists* in, BfsPlan& plan) {
  const auto rows = views(out, in);
  Components c;
  {
    const nb::gil_scoped_release release;
    c = connected_components(PackedGraph{rows.out, in ? &rows.in : nullptr}, plan);
  }
  return nb::make_tuple(c.count, as_result(c.labels), c.missed);
}

void define_class(nb::module_& m) {
  nb::class_<BoundPackedLists>(m, "PackedLists",
                               "The neighbour lists of a graph in a packed form, any of which "
                               "can be read alone.")
      .def_static("from_arrays", from_arrays, nb::arg("bases"), nb::arg("heads"), nb::arg("words"),
                  nb::arg("long_ends"), nb::arg("note"), nb::kw_only(), nb::arg("mapped") = false,
                  nb::arg("check") = "all", nb::arg("source") = "packed lists",
                  "What to_arrays() gave; the arrays are shared. Checks sizes, and all lists now (\"all\"), "
                  "before the first use (\"first_use\") or never (\"cheap\"); errors name `source`.")
      .def("to_arrays", to_arrays,
           "(bases, heads, words, ends of long lists, note): the arrays are shared, and the note is (edges, "
           "tables, bits of a table's number, whether an edge repeats, whether lists were sorted).")
      .def("facts", facts_of)
      .def(
          "same",
          [](const BoundPackedLists& p, const BoundPackedLists& q) { return same_lists(*p.any(), *q.any()); },
          nb::arg("other"), "Whether both are the same, bit for bit: heads, words and what is known of them.")
      .def(
          "require_lists_of",
          [](const BoundPackedLists& p, const Matrix& a, std::int64_t stride) {
            require(stride >= 1, "stride is at least 1");
            a.guard().require_whole();
            const auto edges = stride == 1 ? edges_of(a) : edges_in(a.unread());
            const auto lists = p.any();
            const nb::gil_scoped_release release;
            check_lists_of(*lists, edges, stride);
          },
          nb::arg("a"), nb::arg("stride") = 1,
          "Raises ValueError unless they are the lists of a, of each stride-th vertex.")
      .def(
          "unpack",
          [](const BoundPackedLists& p) {
            const auto lists = p.any();
            Array<Offset> offsets;
            Array<Index> columns;
            {
              const nb::gil_scoped_release release;
              offsets = allocate<Offset>(lists->vertices + 1);
              columns = allocate<Index>(lists->edges);
              unpack_lists(*lists, offsets.data, columns.data);
            }
            return nb::make_tuple(as_result(offsets), as_result(columns));
          },
          "(offsets, ascending columns) of all lists")
      .def(
          "bfs",
          [](const BoundPackedLists& p, Index source) {
            const auto lists = p.any();
            Array<Index> levels;
            {
              const nb::gil_scoped_release release;
              levels = bfs_packed(*lists, source);
            }
            return as_result(levels);
          },
          nb::arg("source"), "Levels, by one thread of the CPU: what other searches are compared with.");
}

}  // namespace

void graph_packed(nb::module_& m) {
  define_class(m);
  m.def(
      "pack_lists",
      [](const Matrix& a, std::int64_t first, std::int64_t count) {
        const auto edges = edges_of(a);
        const nb::gil_scoped_release release;
        return BoundPackedLists(pack_lists(edges, first, count));
      },
      nb::arg("a"), nb::arg("first") = 0, nb::arg("count") = -1,
      "The packed lists of a square matrix in host memory, each in ascending order, or of `count` rows from "
      "`first` on.");
  m.def(
      "pack_lists_in_pieces",
      [](const Matrix& a, std::int64_t piece_bytes, std::int64_t memory, std::int64_t first,
         std::int64_t count, const PathWeights* weights, std::int64_t near_bytes) -> nb::object {
        std::optional<PackedLists> lists;
        const auto lengths = weights ? lengths_to_pack(*weights) : PackLengths{};
        {
          const nb::gil_scoped_release release;
          lists = std::visit(
              [&](const auto& m) -> std::optional<PackedLists> {
                const Stream stream{nullptr, Where{}};
                std::string why;
                const auto found = pack_lists_on(m.indptr, m.indices, stream,
                                                 {.first = first,
                                                  .count = count,
                                                  .memory = memory,
                                                  .words = near_bytes,
                                                  .piece_bytes = piece_bytes,
                                                  .lengths = lengths,
                                                  .far = near_bytes > 0},
                                                 &why);
                if (!found) return {};
                return to_host(*found, stream);
              },
              a.any(release));
        }
        if (!lists) return nb::none();
        return nb::cast(BoundPackedLists(std::move(*lists)));
      },
      nb::arg("a"), nb::arg("piece_bytes"), nb::arg("memory"), nb::arg("first") = 0, nb::arg("count") = -1,
      nb::arg("weights").none() = nb::none(), nb::arg("near_bytes") = 0,
      "pack_lists(a), or with weights pack_lengths() of them, as a GPU makes them, with the CPU as the "
      "device; "
      "near_bytes: what lists may take there, others go to the host; None where a GPU would leave them to "
      "the "
      "CPU.");
  m.def(
      "pack_lengths",
      [](const BoundPackedLists& lists, const Matrix& a, const PathWeights& weights) {
        const auto edges = edges_of(a);
        const auto plain = lists.any();
        const nb::gil_scoped_release release;
        return BoundPackedLists(pack_weights(*plain, edges, weights));
      },
      nb::arg("lists"), nb::arg("a"), nb::arg("weights"),
      "pack_lists(a) with the lengths of the edges, path_weights(a). Raises ValueError where they are no "
      "whole numbers "
      "or take more than 16 bits above the least one.");
  nb::class_<BoundListSample>(m, "ListSample", "Some lists of a graph, by which all of them are packed.")
      .def_ro("bytes", &BoundListSample::bytes, "About as many as pack_lists(a) would have.");
  m.def(
      "sample_lists",
      [](const Matrix& a) {
        const auto edges = edges_of(a);
        const nb::gil_scoped_release release;
        auto sample = std::make_shared<const PackedSample>(sample_lists(edges, 0, edges.rows));
        const auto bytes = sample->bytes(edges.rows);
        return BoundListSample{std::move(sample), bytes};
      },
      nb::arg("a"), "A look at some lists, which takes a few milliseconds.");
  m.def("bfs_packed", search, nb::arg("out"), nb::arg("incoming").none(), nb::arg("source"), nb::arg("plan"),
        nb::arg("predecessors"), "As bfs, over packed lists.");
  m.def(
      "read_cost",
      [](bool packed) {
        const auto c = packed ? graph::read_cost(graph::PackedRows{}) : graph::read_cost(CsrView<One>{});
        return nb::make_tuple(c.look, c.probe, c.edge);
      },
      nb::arg("packed"),
      "Nanoseconds of one thread by which searches choose their direction: for a vertex, a probe, an edge.");
  m.def("connected_components_packed", components, nb::arg("out"), nb::arg("incoming").none(),
        nb::arg("plan"), "As connected_components, over packed lists.");
}

}  // namespace penstock::bind
