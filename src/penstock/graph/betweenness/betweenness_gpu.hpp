#pragma once
#include <optional>
#include <span>
#include <vector>

#include "penstock/graph/betweenness/betweenness.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"

namespace penstock {

struct BetweennessGpuOptions {
  bool endpoints = false;             // a path counts for its ends, too
  std::optional<Access> access = {};  // empty: the graph's best
  bool cache = true;   // long lists into the device memory that is left: each is read twice a source
  bool count = false;  // count requests over the link, by instrumented kernels: slower
};

struct BetweennessGpuResult {
  Array<double> sums;  // as betweenness(), which adds the same numbers in another order
  std::vector<Index>
      left;  // sources with too many paths for double, which are not in the sums: betweenness() has wider ones
  std::int64_t levels = 0;               // of all sources
  LinkCounts requests;                   // where counted
  double seconds = 0, copy_seconds = 0;  // on the GPU; of bringing the sums to the host
};

/// betweenness() of a graph whose edges may exceed the GPU, which has neither duplicates nor self loops. 32 bytes of
/// device memory a vertex. Throws Error{out_of_memory} where these exceed the budget.
BetweennessGpuResult betweenness_gpu(GpuGraph& g, std::span<const Index> sources,
                                     const BetweennessGpuOptions& options = {});

}  // namespace penstock
