#pragma once
#include <span>

#include "penstock/graph/sssp/sssp.hpp"

namespace penstock::graph {

/// The sum that a path becomes with one more edge, as the search computes it.
template <class V>
Distance<V> longer([[maybe_unused]] const Csr<V>& a, Distance<V> d, [[maybe_unused]] Offset k) {
  if constexpr (is_pattern<V>) return d + 1;
  else return d + a.values.data[k];
}

/// Predecessors from finished distances, as `sssp` promises them.
template <class V>
Array<Index> shortest_path_tree(const Csr<V>& a, std::span<const Index> sources,
                                std::span<const Distance<V>> distances);

}  // namespace penstock::graph
