#pragma once
#include <optional>
#include <span>
#include <vector>

#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/gpu/result_to.hpp"

namespace penstock {

/// `automatic`: top-down and bottom-up by expected cost, many small levels in one kernel. `top_down`: never bottom-up.
/// `level_synchronous`: EMOGI's algorithm (min-2020), which looks at every vertex in every level and reads every list.
enum class BfsMethod : std::uint8_t { automatic, top_down, level_synchronous };

struct BfsGpuOptions {
  BfsMethod method = BfsMethod::automatic;
  std::optional<Access> access = {};  // empty: the best one for the graph
  int sample = 4;  // slots of the neighbour sample that the graph makes if it has none; 0: no sample
  bool predecessors = false;
  bool count = false;  // count requests over the link, by instrumented kernels: slower
  ResultTo levels_to = {}, predecessors_to = {};  // int32; of one GPU
};

/// How some levels were found. `small`: many levels in one kernel. `mixed`: samples were asked bottom-up, then the rest was
/// found top-down.
enum class BfsStepKind : std::uint8_t { scan, small, top_down, bottom_up, mixed };
inline constexpr std::string_view kBfsStepKinds[] = {"scan", "small", "top_down", "bottom_up", "mixed"};

struct BfsStep {
  BfsStepKind kind = BfsStepKind::scan;
  Index first_level = 0, levels = 1;  // the first level that the step found, and how many
  std::int64_t frontier = 0;          // vertices and edges that it started from (vertices: 0 for `scan`)
  std::int64_t edges = 0;
  // Vertices whose samples had no neighbour in the frontier, and may not be the whole list.
  std::int64_t open = 0;
  double seconds = 0;  // until the host knew the next frontier
};

struct BfsGpuResult {
  Array<Index> levels, predecessors;  // in pinned memory; empty where the caller gave memory for them
  std::int64_t reached = 0;
  Index depth = 0;          // the last level that has vertices
  std::int64_t missed = 0;  // edges of steps that would have been bottom-up if there were reversed edges
  std::vector<BfsStep> steps;
  LinkCounts requests;      // if they were counted
  double seconds = 0;       // of the search, on the GPU
  double copy_seconds = 0;  // of the copy of the result to the host
};

/// Levels from `source`, and on request predecessors: for each vertex any vertex one level up with an edge to it. `in` has the
/// reversed edges on the same GPU; it is `out` itself if the pattern is symmetric, and null if the edges are not known: then
/// every step is top-down. Throws Error{out_of_memory} if the arrays of the vertices exceed the budget.
BfsGpuResult bfs_gpu(GpuGraph& out, GpuGraph* in, Index source, const BfsGpuOptions& options = {});

/// Levels from each of `sources`, which has a row of `levels` (sources.size() x vertices), or of options.levels_to. Up to 64 searches run at once: in a
/// level, a list is read once for all searches whose frontiers the vertex is in.
struct BfsManyResult {
  LinkCounts requests;
  double seconds = 0, copy_seconds = 0;
  std::int64_t passes = 0;  // the levels of all batches
  int batch = 0;            // how many searches run at once
};
BfsManyResult bfs_many_gpu(GpuGraph& out, GpuGraph* in, std::span<const Index> sources, Index* levels,
                           const BfsGpuOptions& options = {});

}  // namespace penstock
