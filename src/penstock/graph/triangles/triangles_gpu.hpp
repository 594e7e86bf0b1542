#pragma once
#include <optional>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/triangles/triangles.hpp"
#include "penstock/graph/triangles/triangles_incoming_gpu.hpp"

namespace penstock {

/// A copy of oriented edges as a matrix: row u has the ends of number u in ascending order, so that lists are read in the
/// order of their addresses.
Csr<One> oriented_lists(const OrientedEdges& edges);

struct TrianglesGpuOptions {
  bool of_vertex = false;
  std::optional<Access> access = {};  // empty: the best one for the graph
  // Copy long lists to the device memory that is left, because they are read again and again.
  bool cache = true;
  bool count = false;  // count requests over the link, by instrumented kernels: slower
  // On the GPU: the number of each vertex. If it is there, lists are taken in the order of the vertices, and counts are those
  // of the vertices.
  const Index* number = nullptr;
  // The edges into each vertex, if they are there: the total alone is then counted over them.
  const IncomingEdges* incoming = nullptr;
};

struct TrianglesGpuResult {
  std::int64_t total = 0;
  Array<std::int64_t> of_number;  // for each number, or vertex (options.number); empty unless asked for
  LinkCounts requests;            // if they were counted
  double seconds = 0, copy_seconds = 0;  // on the GPU; for the copy of the counts to the host
};

/// count_triangles() over oriented_lists() that a GPU reads in place.
TrianglesGpuResult count_triangles_gpu(GpuGraph& oriented, const TrianglesGpuOptions& options = {});

}  // namespace penstock
