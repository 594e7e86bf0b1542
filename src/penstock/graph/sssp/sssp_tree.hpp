#pragma once
#include <atomic>
#include <limits>
#include <span>

#include "penstock/graph/sssp/sssp.hpp"

namespace penstock::graph {

inline constexpr Index kNobody =
    std::numeric_limits<Index>::max();  // of a vertex that has no predecessor yet
inline constexpr Index kNone = -9999;   // of one that will never have any

/// Puts the smaller one of `to` and what is there into the cell, and returns whether nobody was there.
inline bool lower(Index& cell, Index to) {
  const std::atomic_ref<Index> at(cell);
  auto now = at.load(std::memory_order_relaxed);
  while (to < now && !at.compare_exchange_weak(now, to, std::memory_order_relaxed)) {}
  return now == kNobody;
}

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
