#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/bfs/bfs.hpp"

namespace penstock {

struct Components {
  std::int64_t count = 0;
  Array<Index> labels;      // 0..count-1, in the order of each component's smallest vertex
  std::int64_t missed = 0;  // edges that would not have been looked at if there were `in`
};

/// Weakly connected components. With `graph.in` most edges need not be looked at. The result depends on the graph alone, not
/// on the number of threads.
Components connected_components(const BfsGraph& graph, BfsPlan& plan);
/// The same over packed lists, which are decoded where they are read.
Components connected_components(const PackedGraph& graph, BfsPlan& plan);
/// The same over a graph some of whose lists are replaced.
Components connected_components(const PatchedGraph& graph, BfsPlan& plan);
Components connected_components(const PatchedPackedGraph& graph, BfsPlan& plan);

/// Throws Error{invalid_argument} unless the labels are 0..count-1 in the order of their smallest vertices.
void labels_verify(std::int64_t vertices, std::int64_t count, std::span<const Index> labels);
/// Throws Error{invalid_argument} that names the first fault. It finds the components in its own way.
void components_verify(const CsrView<One>& out, std::int64_t count, std::span<const Index> labels);

}  // namespace penstock
