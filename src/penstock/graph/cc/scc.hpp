#pragma once
#include <cstdint>
#include <span>

#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/cc/cc.hpp"

namespace penstock {

/// Strongly connected components. `missed` are the edges that one thread walked because there was no `graph.in`. The result
/// depends on the graph alone, not on the number of threads.
Components strong_components(const BfsGraph& graph, BfsPlan& plan);

/// Throws Error{invalid_argument} naming the first fault: two vertices of a label without a path each way, or a cycle
/// through two labels. Independent of strong_components().
void strong_components_verify(const CsrView<One>& out, std::int64_t count, std::span<const Index> labels);

}  // namespace penstock
