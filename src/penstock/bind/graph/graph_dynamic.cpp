// Graphs that change: sorted changes, the rows that they touch, searches over these, and components while edges are added.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "penstock/bind/coo.hpp"
#include "penstock/bind/graph/graph.hpp"
#include "penstock/bind/graph/graph_packed.hpp"
#include "penstock/graph/dynamic/growing_components.hpp"
#include "penstock/graph/dynamic/patch.hpp"

namespace penstock::bind {
namespace {

using AnyDelta = std::variant<Delta<One>, Delta<float>, Delta<double>, Delta<Complex64>, Delta<Complex128>>;
using AnyPatch = std::variant<Patch<One>, Patch<float>, Patch<double>, Patch<Complex64>, Patch<Complex128>>;

/// Neither changes once it is made, so that any thread may read them.
struct BoundDelta {
  AnyDelta any;
};
struct BoundPatch {
  AnyPatch any;
};

template <class V>
const Delta<V>& typed(const BoundDelta& d) {
  const auto* found = std::get_if<Delta<V>>(&d.any);
  require(found != nullptr, "the changes have values of another type than the matrix");
  return *found;
}

/// Calls f with the matrix, which the CPU must be able to read, without Python's lock.
template <class F>
auto with_matrix(const Matrix& m, F&& f) {
  const auto any = m.any();
  const nb::gil_scoped_release release;
  return std::visit(
      [&](const auto& a) {
        require_host(a, "DynamicGraph");
        return f(a);
      },
      any);
}

template <class V>
const V* values_as(const nb::object& values, std::int64_t n) {
  if constexpr (is_pattern<V>) {
    require(values.is_none(), "a pattern takes no values");
    return nullptr;
  } else {
    if (values.is_none()) return nullptr;
    const auto any = nb::cast<AnyArray>(values);
    require(any.dtype() == nb::dtype<V>() && std::int64_t(any.shape(0)) == n,
            std::string("values must be ") + std::to_string(n) + " numbers of type " + dtype_name<V>());
    return static_cast<const V*>(any.data());
  }
}

BoundDelta new_delta(const Matrix& like, const AnyArray& rows, const AnyArray& cols, const nb::object& values,
                     std::int64_t vertices, bool remove, bool mirror) {
  const auto n = std::int64_t(rows.shape(0));
  require(std::int64_t(cols.shape(0)) == n, "rows and cols differ in length");
  return std::visit(
      [&]<class V>(const Csr<V>&) -> BoundDelta {
        const CooView<V> edges{vertices,
                               vertices,
                               n,
                               indices_of(rows, "rows"),
                               indices_of(cols, "cols"),
                               values_as<V>(values, n)};
        const nb::gil_scoped_release release;
        return {make_delta(edges, {.vertices = vertices, .remove = remove, .mirror = mirror})};
      },
      like.unread());
}

BoundDelta delta_from_arrays(const Matrix& like, const ReadArray<EdgeKey>& keys, const nb::object& values,
                             std::int64_t vertices) {
  const auto shared = share<EdgeKey>(keys);
  check_keys(shared.span(), vertices);
  return std::visit(
      [&]<class V>(const Csr<V>&) -> BoundDelta {
        Delta<V> d{shared, {}};
        values_as<V>(values, d.size());
        if constexpr (!is_pattern<V>) d.values = share<V>(nb::cast<ReadArray<V>>(values));
        return {std::move(d)};
      },
      like.unread());
}

nb::tuple delta_to_arrays(const BoundDelta& d) {
  return std::visit(
      []<class V>(const Delta<V>& typed) {
        if constexpr (is_pattern<V>) return nb::make_tuple(as_numpy(typed.keys), nb::none());
        else return nb::make_tuple(as_numpy(typed.keys), as_numpy(typed.values));
      },
      d.any);
}

BoundDelta merge_deltas(const BoundDelta& older, const BoundDelta& newer) {
  const nb::gil_scoped_release release;
  return std::visit([&]<class V>(const Delta<V>& o) -> BoundDelta { return {merge(o, typed<V>(newer))}; },
                    older.any);
}

nb::object edges_found(const Matrix& base, const std::vector<const BoundDelta*>& newest_first,
                       const ReadArray<EdgeKey>& keys) {
  const auto found = with_matrix(base, [&]<class V>(const Csr<V>& a) {
    std::vector<Delta<V>> deltas;
    for (const auto* d : newest_first) deltas.push_back(typed<V>(*d));
    return has_edges(a, deltas, span_of(keys));
  });
  return as_result(found);
}

/// Calls f with the matrix and the patch of its type.
template <class F>
auto with_patch(const Matrix& base, const BoundPatch& patch, F&& f) {
  return std::visit(
      [&]<class V>(const Csr<V>& a) {
        require_host(a, "DynamicGraph");
        const auto* p = std::get_if<Patch<V>>(&patch.any);
        require(p != nullptr, "the patch has values of another type than the matrix");
        return f(a, *p);
      },
      base.any());
}

/// What a search reads of one direction. `lists`: the base's lists packed, or null.
struct Side {
  const Matrix* base;
  const BoundPatch* patch;
  const BoundPackedLists* lists;

  graph::PatchedRows raw() const {
    return with_patch(*base, *patch, [](const auto& a, const auto& p) { return rows_of(a, p); });
  }
  graph::Patched<graph::PackedRows> packed() const {
    const auto some = lists->any();
    return with_patch(*base, *patch, [&](const auto& a, const auto& p) { return rows_of(a, p, *some); });
  }
};

/// Calls find with the edges out of each vertex, and into it where they are given, in the form that both sides have.
template <class Find>
auto with_sides(const Side& out, const std::optional<Side>& in, Find&& find) {
  const auto both = [&](const auto& o, const auto& i) {
    const nb::gil_scoped_release release;
    return find(GraphOf<std::remove_cvref_t<decltype(o)>>{o, in ? &i : nullptr});
  };
  if (out.lists) return both(out.packed(), (in ? *in : out).packed());
  return both(out.raw(), (in ? *in : out).raw());
}

/// (matrix, patch, packed lists of the matrix or None), as Python has it.
using BoundSide = std::tuple<const Matrix*, const BoundPatch*, const BoundPackedLists*>;
Side side_of(const BoundSide& s) {
  const auto& [base, patch, lists] = s;
  require(base && patch, "a side is (matrix, patch, packed lists or None)");
  return {base, patch, lists};
}
std::optional<Side> side_of(const std::optional<BoundSide>& s, const Side& out) {
  if (!s) return {};
  const auto side = side_of(*s);
  require((side.lists == nullptr) == (out.lists == nullptr), "both sides are packed, or neither is");
  return side;
}

nb::tuple search_patched(const BoundSide& out, const std::optional<BoundSide>& in, Index source,
                         BfsPlan& plan, bool predecessors) {
  const auto side = side_of(out);
  const auto r = with_sides(side, side_of(in, side), [&](const auto& g) {
    return bfs(g, source, plan, {.predecessors = predecessors});
  });
  return nb::make_tuple(as_result(r.levels), predecessors ? as_result(r.predecessors) : nb::none(), r.missed);
}

nb::tuple components_patched(const BoundSide& out, const std::optional<BoundSide>& in, BfsPlan& plan) {
  const auto side = side_of(out);
  const auto c =
      with_sides(side, side_of(in, side), [&](const auto& g) { return connected_components(g, plan); });
  return nb::make_tuple(c.count, as_result(c.labels), c.missed);
}

void define_delta(nb::module_& m) {
  nb::class_<BoundDelta>(m, "EdgeDelta", "Changes of a graph's edges: each edge once, in ascending order.")
      .def_static("from_edges", new_delta, nb::arg("like"), nb::arg("rows"), nb::arg("cols"),
                  nb::arg("values").none(), nb::kw_only(), nb::arg("vertices"), nb::arg("remove"),
                  nb::arg("mirror"))
      .def_static("from_arrays", delta_from_arrays, nb::arg("like"), nb::arg("keys"),
                  nb::arg("values").none(), nb::arg("vertices"),
                  "What to_arrays() gave; the arrays are shared, and checked.")
      .def("to_arrays", delta_to_arrays,
           "(row << 32 | column << 1 | whether it was removed, values or None), read-only and shared")
      .def("merged", merge_deltas, nb::arg("newer"), "Both; the newer one counts.")
      .def(
          "filtered",
          [](const BoundDelta& d, const ReadArray<std::uint8_t>& keep) {
            const nb::gil_scoped_release release;
            return std::visit([&](const auto& t) -> BoundDelta { return {filter(t, span_of(keep))}; }, d.any);
          },
          nb::arg("keep"))
      .def("transposed",
           [](const BoundDelta& d) {
             const nb::gil_scoped_release release;
             return std::visit([](const auto& t) -> BoundDelta { return {transpose(t)}; }, d.any);
           })
      .def("__len__", [](const BoundDelta& d) {
        return std::visit([](const auto& t) { return std::size_t(t.size()); }, d.any);
      });
  m.def("has_edges", edges_found, nb::arg("base"), nb::arg("newest_first"), nb::arg("keys"),
        "One byte a key: whether the matrix has the edge after the deltas.");
}

void define_patch(nb::module_& m) {
  nb::class_<BoundPatch>(m, "EdgePatch", "The rows of a matrix that changes touch, as they are afterwards.")
      .def(nb::new_([](const Matrix& base, const BoundDelta& d, std::int64_t vertices) {
             return with_matrix(base, [&]<class V>(const Csr<V>& a) -> BoundPatch {
               return {make_patch(a, typed<V>(d), vertices)};
             });
           }),
           nb::arg("base"), nb::arg("delta"), nb::arg("vertices"))
      .def_prop_ro(
          "edges",
          [](const BoundPatch& p) { return std::visit([](const auto& t) { return t.edges; }, p.any); })
      .def_prop_ro(
          "rows",
          [](const BoundPatch& p) {
            return std::visit([](const auto& t) { return as_numpy(t.rows); }, p.any);
          },
          "Which are replaced, ascending.")
      .def(
          "lists",
          [](const BoundPatch& p) {
            return std::visit([](const auto& t) { return Matrix{t.lists}; }, p.any);
          },
          "The replaced rows as a matrix.")
      .def(
          "applied",
          [](const BoundPatch& p, const Matrix& base) {
            return with_matrix(base, [&]<class V>(const Csr<V>& a) {
              const auto* patch = std::get_if<Patch<V>>(&p.any);
              require(patch != nullptr, "the patch has values of another type than the matrix");
              return Matrix{apply_patch(a, *patch)};
            });
          },
          nb::arg("base"), "The changed matrix.");
  m.def("bfs_patched", search_patched, nb::arg("out"), nb::arg("incoming").none(), nb::arg("source"),
        nb::arg("plan"), nb::arg("predecessors"),
        "As bfs, over a matrix some of whose rows are replaced: (matrix, patch, packed lists of the matrix "
        "or None).");
  m.def("connected_components_patched", components_patched, nb::arg("out"), nb::arg("incoming").none(),
        nb::arg("plan"), "As connected_components, of the same.");
}

}  // namespace

void graph_dynamic(nb::module_& m) {
  define_delta(m);
  define_patch(m);
  nb::class_<GrowingComponents>(m, "GrowingComponents", "Weak components while edges are added.")
      .def(nb::new_([](const ReadArray<Index>& labels) { return new GrowingComponents(span_of(labels)); }),
           nb::arg("labels"))
      .def("grow", &GrowingComponents::grow, nb::arg("vertices"))
      .def(
          "unite",
          [](GrowingComponents& g, const AnyArray& rows, const AnyArray& cols) {
            const auto u = indices_of(rows, "rows"), v = indices_of(cols, "cols");
            const auto n = std::int64_t(rows.shape(0));
            require(std::int64_t(cols.shape(0)) == n, "rows and cols differ in length");
            const nb::gil_scoped_release release;
            g.unite(u, v, n);
          },
          nb::arg("rows"), nb::arg("cols"))
      .def("components", [](GrowingComponents& g) {
        Components c;
        {
          const nb::gil_scoped_release release;
          c = g.components();
        }
        return nb::make_tuple(c.count, as_result(c.labels));
      });
}

}  // namespace penstock::bind
