#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/core/config.hpp"
#include "penstock/graph/bfs/bfs_gpu.hpp"
#include "penstock/graph/cc/cc_gpu.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/gpu/gpu_parts.hpp"
#include "penstock/graph/gpu/result_to.hpp"

namespace penstock::bind {

/// A graph on one GPU or over several, as Python holds it; exists in builds without CUDA, where none can be made.
template <class Graph>
struct BoundGraph {
  std::shared_ptr<Graph> graph;
};
using BoundGpuGraph = BoundGraph<GpuGraph>;
using BoundGpuParts = BoundGraph<GpuParts>;

inline std::optional<EdgePlacement> placement_named(const std::string& text) {
  if (text == "auto") return std::nullopt;
  for (int i = 0; i < int(std::size(kEdgePlacements)); ++i)
    if (text == kEdgePlacements[i].name) return static_cast<EdgePlacement>(i);
  throw Error(Errc::invalid_argument,
              "placement=\"" + text + "\" is unknown: choose one of " + list_names(kEdgePlacements, "auto"));
}

inline std::optional<Access> access_named(const std::string& text) {
  if (text == "auto") return std::nullopt;
  for (int i = 0; i < int(std::size(kAccessPolicies)); ++i)
    if (text == kAccessPolicies[i].name) return static_cast<Access>(i);
  throw Error(Errc::invalid_argument,
              "access=\"" + text + "\" is unknown: choose one of " + list_names(kAccessPolicies, "auto"));
}

/// What kernels have read of the edges: bytes, and requests by their size.
inline nb::dict as_dict(const LinkCounts& counts) {
  nb::dict sizes, d;
  for (int i = 0; i < 4; ++i) sizes[nb::int_(32 * (i + 1))] = counts.requests[i];
  d["bytes"] = counts.bytes(), d["requests"] = sizes;
  return d;
}

/// Memory for a result as Python gives it: (its address, the stream of its library), or None.
using GivenMemory = std::optional<std::pair<std::uintptr_t, std::uintptr_t>>;
inline ResultTo result_to(const GivenMemory& given) {
  if (!given) return {};
  return {reinterpret_cast<void*>(given->first), reinterpret_cast<void*>(given->second)};
}

// Of graph_sample.cpp.
SampleOf sample_named(const std::string& kind);
/// From None, or (slots a vertex, kind, slots as uint32), which is shared.
NeighbourSample sample_from(const nb::object& given);
/// The same way back, None where there is none.
nb::object as_object(const NeighbourSample& sample);

// Of graph_gpu.cpp, for searches over one GPU or several.
[[noreturn]] void no_gpu_build(const std::string& task);
nb::dict as_dict(const GpuGraphFacts& facts);
BfsGpuOptions bfs_options(const std::string& method, const std::string& access, int sample, bool predecessors,
                          bool count);
/// (levels, predecessors or None, what was done)
nb::tuple as_tuple(const BfsGpuResult& result, const BfsGpuOptions& options);
// Of graph_gpu_components.cpp.
CcGpuOptions cc_options(const std::string& method, const std::string& access, int sample, bool count);
/// (count, labels, what was done)
nb::tuple as_tuple(const CcGpuResult& result, const CcGpuOptions& options);

/// The graph of a matrix, Graph(offsets, columns, how...).
template <class Graph, class... How>
BoundGraph<Graph> make_graph([[maybe_unused]] const Matrix& m, [[maybe_unused]] const How&... how) {
  if constexpr (have_cuda) {
    const nb::gil_scoped_release release;
    return {std::visit(
        [&](const auto& a) {
          require(a.rows == a.cols, "a graph is a square matrix");
          return std::make_shared<Graph>(a.indptr, a.indices, how...);
        },
        m.any(release))};
  } else {
    no_gpu_build("traversals");
  }
}

/// What `run(out, incoming)` finds while Python's lock is let go, as a tuple for Python. `run` is generic, because builds
/// without CUDA lack what it calls.
template <class Graph, class Options, class Run>
nb::tuple traversed([[maybe_unused]] BoundGraph<Graph>& out, [[maybe_unused]] BoundGraph<Graph>* in,
                    [[maybe_unused]] const Options& options, const char* task, [[maybe_unused]] Run run) {
  if constexpr (have_cuda) {
    const auto found = [&] {
      const nb::gil_scoped_release release;
      return run(*out.graph, in ? in->graph.get() : nullptr);
    }();
    return as_tuple(found, options);
  } else {
    no_gpu_build(task);
  }
}

/// A search as Python calls it; `run(out, incoming, source, options)`.
template <class Graph, class Run>
void def_search(nb::module_& m, const char* name, Run run) {
  m.def(
      name,
      [run](BoundGraph<Graph>& out, BoundGraph<Graph>* in, Index source, const std::string& method,
            const std::string& access, int sample, bool predecessors, bool count, const GivenMemory& to,
            const GivenMemory& tree_to) {
        auto options = bfs_options(method, access, sample, predecessors, count);
        options.levels_to = result_to(to), options.predecessors_to = result_to(tree_to);
        return traversed(out, in, options, "traversals",
                         [&](auto& a, auto* b) { return run(a, b, source, options); });
      },
      nb::arg("out"), nb::arg("incoming").none(), nb::arg("source"), nb::arg("method") = "auto",
      nb::arg("access") = "auto", nb::arg("sample") = 4, nb::arg("predecessors") = false,
      nb::arg("count") = false, nb::arg("to").none() = nb::none(), nb::arg("tree_to").none() = nb::none(),
      "(levels, predecessors or None, what was done); to, tree_to: memory on the GPU for the first two, "
      "which "
      "are then None");
}

/// Connected components as Python asks for them; `run(out, incoming, options)`.
template <class Graph, class Run>
void def_components(nb::module_& m, const char* name, Run run) {
  m.def(
      name,
      [run](BoundGraph<Graph>& out, BoundGraph<Graph>* in, const std::string& method,
            const std::string& access, int sample, bool count, const GivenMemory& to) {
        auto options = cc_options(method, access, sample, count);
        options.labels_to = result_to(to);
        return traversed(out, in, options, "connected components",
                         [&](auto& a, auto* b) { return run(a, b, options); });
      },
      nb::arg("out"), nb::arg("incoming").none(), nb::arg("method") = "auto", nb::arg("access") = "auto",
      nb::arg("sample") = 4, nb::arg("count") = false, nb::arg("to").none() = nb::none(),
      "(count, labels, what was done); to: memory on the GPU for the labels, which are then None");
}

}  // namespace penstock::bind
