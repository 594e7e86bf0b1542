// Breadth-first search and components.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <span>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/cc/cc.hpp"
#include "penstock/graph/cc/scc.hpp"
#include "penstock/graph/kcore.hpp"

namespace penstock::bind {
namespace {

nb::tuple bound_bfs(const Matrix& out, const Matrix* in, Index source, BfsPlan& plan, bool predecessors) {
  const auto forward = edges_of(out), backward = in ? edges_of(*in) : forward;
  BfsResult r;
  {
    const nb::gil_scoped_release release;
    r = bfs({forward, in ? &backward : nullptr}, source, plan, {.predecessors = predecessors});
  }
  return nb::make_tuple(as_result(r.levels), predecessors ? as_result(r.predecessors) : nb::none(), r.missed);
}

nb::tuple bound_order(const Matrix& out, const Matrix* also, Index source) {
  const auto forward = edges_of(out), more = also ? edges_of(*also) : forward;
  BfsOrder r;
  {
    const nb::gil_scoped_release release;
    r = bfs_order(forward, also ? &more : nullptr, source);
  }
  return nb::make_tuple(as_result(r.vertices.slice(0, r.reached)), as_result(r.predecessors));
}

template <Components (&find)(const BfsGraph&, BfsPlan&)>
nb::tuple bound_components(const Matrix& out, const Matrix* in, BfsPlan& plan) {
  const auto forward = edges_of(out), backward = in ? edges_of(*in) : forward;
  Components c;
  {
    const nb::gil_scoped_release release;
    c = find({forward, in ? &backward : nullptr}, plan);
  }
  return nb::make_tuple(c.count, as_result(c.labels), c.missed);
}

}  // namespace

void graph_traverse(nb::module_& m) {
  nb::class_<BfsPlan>(m, "BfsPlan", "What repeated searches of one graph share.").def(nb::init<>());
  m.def("bfs", bound_bfs, nb::arg("out"), nb::arg("incoming").none(), nb::arg("source"), nb::arg("plan"),
        nb::arg("predecessors"), "(levels, predecessors or None, edges that incoming would have saved)");
  m.def(
      "bfs_verify",
      [](const Matrix& out, Index source, const ReadArray<Index>& levels,
         std::optional<ReadArray<Index>> predecessors) {
        const nb::gil_scoped_release release;
        bfs_verify(edges_of(out, release), source, span_of(levels),
                   predecessors ? span_of(*predecessors) : std::span<const Index>());
      },
      nb::arg("out"), nb::arg("source"), nb::arg("levels"), nb::arg("predecessors").none());
  m.def("bfs_order", bound_order, nb::arg("out"), nb::arg("also").none(), nb::arg("source"),
        "(vertices in the order of a queue, predecessors)");
  m.def("strong_components", bound_components<strong_components>, nb::arg("out"), nb::arg("incoming").none(),
        nb::arg("plan"), "(count, labels, edges that incoming would have saved)");
  m.def("strong_components_as_finished", bound_components<strong_components_as_finished>, nb::arg("out"),
        nb::arg("incoming").none(), nb::arg("plan"), "(count, labels numbered as SciPy's, 0)");
  m.def(
      "strong_components_verify",
      [](const Matrix& out, std::int64_t count, const ReadArray<Index>& labels) {
        const nb::gil_scoped_release release;
        strong_components_verify(edges_of(out, release), count, span_of(labels));
      },
      nb::arg("out"), nb::arg("count"), nb::arg("labels"));
  m.def(
      "is_simple",
      [](const Matrix& a) {
        const nb::gil_scoped_release release;
        return is_simple(edges_of(a, release));
      },
      nb::arg("a"));
  m.def(
      "core_number",
      [](const Matrix& a) {
        Array<Index> cores;
        {
          const nb::gil_scoped_release release;
          cores = core_number(edges_of(a, release));
        }
        return as_result(cores);
      },
      nb::arg("a"), "a is simple and symmetric");
  m.def(
      "core_verify",
      [](const Matrix& a, const ReadArray<Index>& cores) {
        const nb::gil_scoped_release release;
        core_verify(edges_of(a, release), span_of(cores));
      },
      nb::arg("a"), nb::arg("cores"));
  m.def("connected_components", bound_components<connected_components>, nb::arg("out"),
        nb::arg("incoming").none(), nb::arg("plan"), "(count, labels, edges that incoming would have saved)");
  m.def(
      "components_verify",
      [](const Matrix& out, std::int64_t count, const ReadArray<Index>& labels) {
        const nb::gil_scoped_release release;
        components_verify(edges_of(out, release), count, span_of(labels));
      },
      nb::arg("out"), nb::arg("count"), nb::arg("labels"));
}

}  // namespace penstock::bind
