// Predecessors after the search, in two steps. First every vertex takes the smallest nearer vertex with a tight edge
// (one that explains its distance exactly). Edges that add nothing (of weight zero, or too small to change the sum) have
// no nearer end: vertices that only such edges lead to are found by a breadth-first search along them, so that no
// cycle can close.
#include "penstock/graph/sssp/sssp_tree.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace graph {
namespace {

constexpr std::int64_t kRows = 4 << 10;

/// Calls f(u, v, k) for the edges out of every vertex that is reached.
template <class V, class F>
void for_each_edge(const Csr<V>& a, std::span<const Distance<V>> d, F&& f) {
  parallel_ranges(a.rows, kRows, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      if (!(d[static_cast<std::size_t>(u)] < std::numeric_limits<Distance<V>>::infinity())) continue;
      for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k)
        f(static_cast<Index>(u), a.indices.data[k], k);
      poll_interrupt();
    }
  });
}

}  // namespace

template <class V>
Array<Index> shortest_path_tree(const Csr<V>& a, std::span<const Index> sources,
                                std::span<const Distance<V>> distances) {
  using T = Distance<V>;
  const auto tree = allocate<Index>(a.rows);
  Index* const p = tree.data;
  const T* const d = distances.data();
  std::fill(p, p + a.rows, kNobody);
  std::atomic<bool> level = false;  // whether an edge adds nothing
  for_each_edge(a, distances, [&](Index u, Index v, Offset k) {
    const T far = longer(a, d[u], k);
    if (far != d[v] || !(far < std::numeric_limits<T>::infinity())) return;
    if (d[u] < far) lower(p[v], u);
    else if (u != v) level.store(true, std::memory_order_relaxed);
  });
  for (const auto s : sources) p[s] = kNone;
  if (level) {
    // Vertices without a predecessor are found from those that have one, along edges that add nothing, step by step.
    std::vector<Index> from;
    bool missing = false;
    for (std::int64_t u = 0; u < a.rows; ++u)
      if (p[u] != kNobody) from.push_back(static_cast<Index>(u));
      else missing |= d[u] < std::numeric_limits<T>::infinity();
    if (!missing) from.clear();
    std::vector<Index> next;
    while (!from.empty()) {
      next.clear();
      for (const auto u : from)  // ascending, so the first to come is the smallest
        for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) {
          const auto v = a.indices.data[k];
          if (p[v] != kNobody || d[v] != d[u] || longer(a, d[u], k) != d[v]) continue;
          p[v] = u;
          next.push_back(v);
        }
      std::sort(next.begin(), next.end());
      from.swap(next);
      poll_interrupt();
    }
  }
  parallel_ranges(a.rows, kRows, [&](std::int64_t first, std::int64_t last) {
    std::replace(p + first, p + last, kNobody, kNone);
  });
  return tree;
}

#define X(V)                                                                      \
  template Array<Index> shortest_path_tree(const Csr<V>&, std::span<const Index>, \
                                           std::span<const Distance<V>>);
X(One)
X(float)
X(double)
#undef X

}  // namespace graph

Array<Index> tree_roots(std::span<const Index> sources, std::span<const Index> predecessors) {
  const auto roots = allocate<Index>(std::ssize(predecessors));
  std::fill(roots.data, roots.data + roots.size, graph::kNobody);
  for (const auto s : sources) roots.data[s] = s;
  std::vector<Index> path;
  for (std::int64_t v = 0; v < roots.size; ++v) {
    auto u = static_cast<Index>(v);
    while (u != graph::kNone && roots.data[u] == graph::kNobody) {
      require(std::ssize(path) < roots.size, "tree_roots: the predecessors form a cycle");
      path.push_back(u);
      u = predecessors[static_cast<std::size_t>(u)];
    }
    const auto root = u == graph::kNone ? graph::kNone : roots.data[u];
    for (const auto w : path) roots.data[w] = root;
    path.clear();
  }
  return roots;
}

}  // namespace penstock
