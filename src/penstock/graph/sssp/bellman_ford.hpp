#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// What a search for shortest paths over weights of any sign has found.
struct BellmanFord {
  Array<double> distances;    // infinity where there is no path
  Array<Index> predecessors;  // empty unless asked for; -9999 for sources and where there is no path
  std::vector<Index> cycle;   // not empty: a cycle of negative length, which makes the rest meaningless
};

/// Distances from the nearest of `sources`; weights are added up in double from the source on. A predecessor is the smallest
/// vertex that ends a shortest path with the fewest edges. All depends on the graph alone, not on the number of threads: so
/// does the cycle. A sum below zero by no more than rounding is no negative cycle. Weights must be as least_weight() wants
/// them; an infinite one is no edge.
template <class V>
BellmanFord bellman_ford(const Csr<V>& a, std::span<const Index> sources, bool predecessors);

/// The same from each source alone, into rows of a.rows entries. The cycle is that of the first source that has one.
template <class V>
BellmanFord bellman_ford_each(const Csr<V>& a, std::span<const Index> sources, bool predecessors);

}  // namespace penstock
