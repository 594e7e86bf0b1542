#pragma once
#include <optional>
#include <span>
#include <vector>

#include "penstock/graph/betweenness/betweenness.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"

namespace penstock {

struct BetweennessGpuOptions {
  bool endpoints = false;             // whether a path counts for its two ends, too
  std::optional<Access> access = {};  // empty: the best one for the graph
  bool cache = true;   // copy long lists to the device memory that is left: a source reads each list twice
  bool count = false;  // count requests over the link, by instrumented kernels: slower
  double scale = 1;    // that sums are multiplied by
};

struct BetweennessGpuResult {
  Array<double> sums;  // those of betweenness(), which adds the same numbers in another order
  // Sources with too many paths for double. They are not in the sums; betweenness() has a wider type.
  std::vector<Index> left;
  std::int64_t levels = 0;               // of all sources together
  LinkCounts requests;                   // if they were counted
  double seconds = 0, copy_seconds = 0;  // on the GPU; for the copy of the sums to the host
};

/// A result with room for the sums of n vertices, which are zero where there are no sources, as nobody writes them then. Throws
/// Error{invalid_argument} if a source is outside the graph.
BetweennessGpuResult unwritten_betweenness(std::int64_t n, std::span<const Index> sources);

/// betweenness() of a graph whose edges may exceed the GPU, without duplicates and self loops. Takes 32 bytes of device memory
/// for each vertex. Throws Error{out_of_memory} if these exceed the budget.
BetweennessGpuResult betweenness_gpu(GpuGraph& g, std::span<const Index> sources,
                                     const BetweennessGpuOptions& options = {});

}  // namespace penstock
