#pragma once
#include <cstdint>

#include "penstock/dist/graph/dist_graph.hpp"

namespace penstock {

struct DistComponents {
  std::int64_t count = 0;  // of the whole graph
  /// Of the vertices owned here: 0..count-1, in the order of each component's smallest vertex.
  Array<GlobalIndex> labels;
  std::int64_t rounds = 0;  // rounds in which ranks exchanged pointers
};

/// Weakly connected components of an aligned matrix. Depends on the graph alone, not on how it is shared out. Collective.
DistComponents connected_components(const DistCsr<One>& a);

}  // namespace penstock
