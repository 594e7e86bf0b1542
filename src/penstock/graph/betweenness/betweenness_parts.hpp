#pragma once
#include "penstock/graph/betweenness/betweenness_gpu.hpp"
#include "penstock/graph/gpu/gpu_parts.hpp"

namespace penstock {

/// betweenness_gpu() over several GPUs, each of which walks the lists of its own range of vertices. In each level, a GPU gets the paths to
/// its vertices that others have found, and tells them which of its vertices are new; on the way back it tells them the shares of its
/// vertices. Takes kCentralitySharedBytes on each GPU for every vertex of the graph, and kCentralityPartBytes for
/// each of its own.
BetweennessGpuResult betweenness_parts_gpu(GpuParts& g, std::span<const Index> sources,
                                           const BetweennessGpuOptions& options = {});

}  // namespace penstock
