#pragma once
#include "penstock/graph/betweenness/betweenness_gpu_state.hpp"

// What GPUs that have a part of a graph each tell one another about a level, as lists of vertices with a number each.
namespace penstock::gpu {

/// A list of vertices that are counted from vertex `first` of the graph, and their number on the host or on the device.
struct Told {
  Index first = 0;
  const Index* vertices = nullptr;
  Index count = 0;
};

/// values[i] = the paths to vertex i of a list with *count entries.
void pack_paths(const CentralityState& s, Index first, const Index* vertices, const Index* count,
                double* values, Stream stream);
/// Adds paths that another GPU has found to vertices of this one, which are in level `depth` with that.
void add_paths(const CentralityState& s, const Told& told, const double* values, Index depth, Stream stream);
/// Notes that these vertices are in level `depth`.
void note_level(const CentralityState& s, const Told& told, Index depth, Stream stream);
void note_shares(const CentralityState& s, const Told& told, const double* values, Stream stream);

}  // namespace penstock::gpu
