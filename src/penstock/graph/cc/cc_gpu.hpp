#pragma once
#include <optional>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/gpu/result_to.hpp"

namespace penstock {

/// `afforest`: trees are made from the sample in device memory, then lists are read of vertices outside the giant tree
/// (Sutton, Ben-Nun, Barak 2018). `label_propagation`: every round uses every edge until nothing changes, as in EMOGI
/// (min-2020).
enum class CcMethod : std::uint8_t { afforest, label_propagation };

struct CcGpuOptions {
  CcMethod method = CcMethod::afforest;
  std::optional<Access> access = {};  // empty: the best one for each graph
  int sample = 4;           // slots of the neighbour sample that a graph without one makes; 0: none is used
  bool count = false;       // count requests over the link, by instrumented kernels: slower
  ResultTo labels_to = {};  // int32; of one GPU
};

struct CcGpuResult {
  std::int64_t count = 0;
  Array<Index> labels;  // those of Components, in pinned memory; empty where the caller gave memory for them
  int rounds = 1;       // how often the edges were gone through
  std::int64_t lists = 0, entries = 0;   // lists and entries that were read, without the sample
  std::int64_t missed = 0;               // edges that would not have been looked at if there were `in`
  LinkCounts requests;                   // if they were counted
  double seconds = 0, copy_seconds = 0;  // on the GPU; for the copy of the labels to the host
};

/// Weakly connected components: the labels of connected_components(). `in` has the reversed edges on the same GPU; it is `out`
/// itself if the pattern is symmetric, and null if they are not known: then every list is read, because an edge may be in the
/// list of one end only. Throws Error{out_of_memory} if the arrays of the vertices exceed the budget.
CcGpuResult connected_components_gpu(GpuGraph& out, GpuGraph* in, const CcGpuOptions& options = {});

}  // namespace penstock
