#pragma once
#include <cstdint>
#include <span>

#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/cc/cc.hpp"

namespace penstock {

/// Strongly connected components. `missed` are the edges that one thread walked because there was no `graph.in`. The result
/// depends on the graph alone, not on the number of threads.
Components strong_components(const BfsGraph& graph, BfsPlan& plan);

/// The same, numbered in the order in which a depth-first search finishes them that begins at vertex 0, then at the first
/// vertex that it has not met, and that follows the edges of a vertex from the last to the first: Pearce's (2016), as SciPy
/// runs it. Edges lead to smaller numbers only. That order is known to no search but this one, which has one thread (it is
/// complete for P: Reif 1985).
Components strong_components_as_finished(const BfsGraph& graph, BfsPlan& plan);

/// Labels are 0..count-1 in any order. Throws Error{invalid_argument} naming the first fault: two vertices of a label without a path each way, or a cycle
/// through two labels. Independent of strong_components().
void strong_components_verify(const CsrView<One>& out, std::int64_t count, std::span<const Index> labels);

}  // namespace penstock
