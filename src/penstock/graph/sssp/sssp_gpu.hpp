#pragma once
#include <optional>
#include <span>
#include <vector>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/gpu/result_to.hpp"
#include "penstock/graph/sssp/sssp.hpp"

namespace penstock {

/// `near_far`: windows of distances in ascending order. Each is pushed by the vertices in it, or pulled by the vertices behind
/// it, whichever reads less. `bellman_ford`: EMOGI's algorithm (min-2020), which in every round looks at every vertex and
/// follows the edges of those whose distance has changed.
enum class SsspMethod : std::uint8_t { near_far, bellman_ford };

struct SsspGpuOptions {
  SsspMethod method = SsspMethod::near_far;
  std::optional<Access> access = {};  // empty: the graph's best
  // The width of a window, at least the smallest weight. 0: it is chosen, and grows where windows have little work.
  double delta = 0;
  double limit = std::numeric_limits<double>::infinity();
  bool predecessors = false;
  bool symmetric = false;         // symmetric_weights(a): vertices may pull
  std::int64_t cache_bytes = -1;  // device memory for short lists; -1: what the budget leaves; 0: none
  bool count = false;             // count requests over the link, by instrumented kernels: slower
  ResultTo distances_to = {}, predecessors_to = {};  // predecessors: int32
  bool to_float64 = false;  // distances_to has float64 entries; false: the type of the distances
};

/// How a window was relaxed. `scan`: a round of Bellman-Ford. `small`: many windows in one kernel.
enum class SsspStepKind : std::uint8_t { scan, push, pull, small };
inline constexpr std::string_view kSsspStepKinds[] = {"scan", "push", "pull", "small"};

struct SsspStep {
  SsspStepKind kind = SsspStepKind::scan;
  double nearest = 0;         // where the window begins
  std::int64_t pending = 0;   // vertices whose neighbours do not know their distance yet
  std::int64_t vertices = 0;  // those of them in the window
  // Of the lists that were read (not known for `scan` and for windows inside `small`).
  std::int64_t edges = 0;
  std::int64_t link_edges = 0;  // those of them that are not in device memory
};

template <class T>
struct SsspGpuResult {
  Array<T> distances;         // empty where the caller gave memory for them
  Array<Index> predecessors;  // empty unless asked for
  std::vector<SsspStep> steps;
  LinkCounts requests;  // where counted
  int weight_bytes = 0;
  double delta = 0;            // the least width of a window
  double prepare_seconds = 0;  // of caching lists and placing weights, once for a graph
  double seconds = 0;          // of the search, on the GPU
  double tree_seconds = 0;     // of the predecessors
  double copy_seconds = 0;     // of bringing the results to the host
};

/// sssp() on a GPU, with the same distances and predecessors bit for bit. `graph` is made of a's arrays; one call at a time.
/// Throws Error{out_of_memory} if the arrays of the vertices exceed the budget.
template <class V>
SsspGpuResult<Distance<V>> sssp_gpu(GpuGraph& graph, const Csr<V>& a, const PathWeights& weights,
                                    std::span<const Index> sources, const SsspGpuOptions& options = {});

}  // namespace penstock
