#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/format/csr.hpp"

// What the search of bellman_ford_cpu.cpp shares with the files that look for cycles and predecessors.
namespace penstock::graph {

/// The edges of a matrix with their weights in double.
template <class V>
struct Roads {
  explicit Roads(const Csr<V>& a)
      : edges{.rows = a.rows,
              .cols = a.cols,
              .indptr = a.indptr.data,
              .indices = a.indices.data,
              .count = a.nnz()},
        values(a.values.data) {}

  double weight([[maybe_unused]] Offset k) const {
    if constexpr (is_pattern<V>) return 1;
    else return static_cast<double>(values[k]);
  }

  CsrView<One> edges;
  const V* values;
};

/// Returns whether the cell was larger.
inline bool lower(double& cell, double to) {
  const std::atomic_ref<double> at(cell);
  auto now = at.load(std::memory_order_relaxed);
  while (to < now)
    if (at.compare_exchange_weak(now, to, std::memory_order_relaxed)) return true;
  return false;
}

/// What distances that have not settled tell about cycles.
struct CycleFound {
  std::vector<Index> negative;  // its vertices along the edges, the smallest first; empty: none
  bool rounding = false;        // a cycle lowers its own distances, but only as rounding does
};
template <class V>
CycleFound find_cycle(const Roads<V>& a, std::span<const Index> sources, std::span<const double> distances);

/// Predecessors of finished distances: a breadth-first search along the edges that explain them.
template <class V>
void shortest_hops(const Roads<V>& a, std::span<const Index> sources, std::span<const double> distances,
                   std::span<Index> predecessors);

}  // namespace penstock::graph
