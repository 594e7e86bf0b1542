#pragma once
#include <optional>

#include "penstock/graph/gpu/gpu_graph.hpp"

namespace penstock {

/// `afforest`: trees from the resident sample, then the lists of what is outside the giant one (Sutton, Ben-Nun, Barak
/// 2018). `label_propagation`: every edge in every round until nothing changes, as EMOGI does (min-2020).
enum class CcMethod : std::uint8_t { afforest, label_propagation };

struct CcGpuOptions {
  CcMethod method = CcMethod::afforest;
  std::optional<Access> access = {};  // empty: each graph's best
  int sample = 4;      // slots of the neighbour sample that a graph without one makes; 0: none is used
  bool count = false;  // count requests over the link, by instrumented kernels: slower
};

struct CcGpuResult {
  std::int64_t count = 0;
  Array<Index> labels;                   // as Components::labels; in pinned memory
  int rounds = 1;                        // over the edges
  std::int64_t lists = 0, entries = 0;   // read where the edges are, the sample aside
  std::int64_t missed = 0;               // edges that need not have been looked at with `in`
  LinkCounts requests;                   // where counted
  double seconds = 0, copy_seconds = 0;  // on the GPU; of bringing the labels to the host
};

/// Weakly connected components: the labels of connected_components(). `in` are the edges reversed on the same GPU, `out`
/// itself where its pattern is symmetric, null where nobody has them: then every list is read, as an edge may be known to
/// its one end alone. Throws Error{out_of_memory} where the arrays of the vertices exceed the budget.
CcGpuResult connected_components_gpu(GpuGraph& out, GpuGraph* in, const CcGpuOptions& options = {});

}  // namespace penstock
