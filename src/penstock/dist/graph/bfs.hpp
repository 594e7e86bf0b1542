#pragma once
#include <cstdint>

#include "penstock/dist/graph/dist_graph.hpp"
#include "penstock/graph/bfs/bfs.hpp"

namespace penstock {

/// `automatic`: bottom-up where that is expected to look at fewer edges. `bottom_up`: always, where the edges in are given.
enum class DistBfsDirection : std::uint8_t { automatic, top_down, bottom_up };

struct DistBfsOptions {
  bool predecessors = false;
  DistBfsDirection direction = DistBfsDirection::automatic;
};

struct DistBfsResult {
  Array<Index> levels;              // of the vertices owned here; kUnreached where there is no path
  Array<GlobalIndex> predecessors;  // empty unless asked for
  // The rest is the same on all ranks.
  std::int64_t reached = 0;
  Index depth = 0;          // the last level that has vertices
  Index bottom_up = 0;      // levels that were found bottom-up
  std::int64_t missed = 0;  // edges of steps that would have gone bottom-up if `in` had been given
};

/// Levels from `source`, and on request predecessors: the smallest-numbered vertex one level up with an edge to each.
/// `in`: the edges turned around, shared out alike; `out` itself where its pattern is symmetric; null: every step is
/// top-down. The result depends on the graph alone, not on how it is shared out. Collective.
DistBfsResult bfs(DistGraph& out, DistGraph* in, GlobalIndex source, const DistBfsOptions& options = {});

}  // namespace penstock
