#pragma once
#include <optional>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/triangles/triangles.hpp"

namespace penstock {

/// Oriented edges as a matrix: row u has the ends of number u, ascending, so that lists are met in the order of their
/// addresses. Copied.
Csr<One> oriented_lists(const OrientedEdges& edges);

struct TrianglesGpuOptions {
  bool of_vertex = false;
  std::optional<Access> access = {};  // empty: the graph's best
  bool cache = true;   // long lists into the device memory that is left: they are read again and again
  bool count = false;  // count requests over the link, by instrumented kernels: slower
};

struct TrianglesGpuResult {
  std::int64_t total = 0;
  Array<std::int64_t> of_number;         // by number, not by vertex; empty unless asked for
  LinkCounts requests;                   // where counted
  double seconds = 0, copy_seconds = 0;  // on the GPU; of bringing the counts to the host
};

/// count_triangles() over oriented_lists() that a GPU reads in place.
TrianglesGpuResult count_triangles_gpu(GpuGraph& oriented, const TrianglesGpuOptions& options = {});

}  // namespace penstock
