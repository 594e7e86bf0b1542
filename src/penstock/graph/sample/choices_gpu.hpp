#pragma once
#include "penstock/graph/sample/neighbours_gpu.hpp"

namespace penstock::graph {

/// Throws Error{out_of_memory}, with the numbers and the remedy, where a hop takes more than the device has.
void require_hop_room(std::int64_t edges, std::int64_t bytes, Where gpu);

/// The edges that are drawn of the vertices of a hop, one vertex after the other.
struct DrawnEdges {
  Array<Offset> starts;  // one a vertex, and the end
  Array<std::int64_t> edges;
};
/// By weights (`weighted`), or of edges that are not later than their seeds, or both: those that sample_hop draws. It waits for the
/// stream. Throws Error{invalid_argument} for a weight that is negative or not finite, naming the edge.
DrawnEdges choose_edges(const DeviceGraph& a, const HopRows& hop, bool weighted, const DeviceTimes& times,
                        Stream stream);

}  // namespace penstock::graph
