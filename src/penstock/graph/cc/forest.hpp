#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

namespace penstock::graph {

/// Trees of vertices, each with its smallest vertex as the root. Which vertices share a tree depends on the edges that were
/// united, not on their order.
class Forest {
 public:
  explicit Forest(Index* parents) : parents_(parents) {}

  Index parent(std::int64_t v) const {
    return std::atomic_ref<Index>(parents_[v]).load(std::memory_order_relaxed);
  }
  void set(std::int64_t v, Index p) {
    std::atomic_ref<Index>(parents_[v]).store(p, std::memory_order_relaxed);
  }
  Index root(Index v) const {
    auto p = parent(v);
    for (auto above = parent(p); above != p; above = parent(p)) p = above;
    return p;
  }

  /// Joins the trees of u and v, while other threads may do the same.
  void unite(Index u, Index v) {
    Index a = parent(u), b = parent(v);
    while (a != b) {
      const Index high = std::max(a, b), low = std::min(a, b);
      Index above = parent(high);
      if (above == low) return;
      if (above == high && std::atomic_ref<Index>(parents_[high])
                               .compare_exchange_strong(above, low, std::memory_order_relaxed))
        return;
      a = parent(above);
      b = parent(low);
    }
  }

  /// The same if no other thread uses the trees of u and v. It halves the paths that it walks.
  void unite_alone(Index u, Index v) {
    Index a = climb(u), b = climb(v);
    if (a == b) return;
    set(std::max(a, b), std::min(a, b));
  }

  /// Puts every vertex of [first, last) directly under its root. Parents are smaller, so in ascending order they are done.
  void flatten(std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) set(v, root(static_cast<Index>(v)));
  }

 private:
  Index climb(Index v) {
    for (auto p = parent(v); p != v; p = parent(v)) {
      const auto above = parent(p);
      if (above == p) return p;
      set(v, above);
      v = above;
    }
    return v;
  }

  Index* parents_;
};

}  // namespace penstock::graph
