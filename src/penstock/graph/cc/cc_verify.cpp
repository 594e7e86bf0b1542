// Checks weak components in another way: it unites the ends of all edges, which must leave as many sets as there are labels,
// and no edge between two labels.
#include <atomic>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/cc/cc.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kCcRowsVerified = 4 << 10;

Index root_of(Index* parent, Index v) {
  for (;;) {
    const std::atomic_ref<Index> here(parent[v]);
    auto up = here.load(std::memory_order_relaxed);
    if (up == v) return v;
    const auto above = std::atomic_ref<Index>(parent[up]).load(std::memory_order_relaxed);
    if (above == up) return up;
    here.compare_exchange_weak(up, above, std::memory_order_relaxed);  // halves the path
    v = above;
  }
}

/// Joins two sets, and returns whether they were different. A root only gets larger parents, so threads cannot close a cycle.
bool join(Index* parent, Index u, Index v) {
  for (;;) {
    auto a = root_of(parent, u), b = root_of(parent, v);
    if (a == b) return false;
    if (a > b) std::swap(a, b);
    if (std::atomic_ref<Index>(parent[a]).compare_exchange_strong(a, b, std::memory_order_relaxed))
      return true;
  }
}

}  // namespace

void labels_verify(std::int64_t vertices, std::int64_t count, std::span<const Index> labels) {
  require(std::ssize(labels) == vertices, "components: " + std::to_string(labels.size()) +
                                              " labels for a graph of " + std::to_string(vertices) +
                                              " vertices");
  std::int64_t seen = 0;
  for (std::int64_t v = 0; v < vertices; ++v) {
    const auto label = labels[static_cast<std::size_t>(v)];
    require(0 <= label && label <= seen && label < count, [&] {
      return "components: vertex " + std::to_string(v) + " has label " + std::to_string(label) + " of " +
             std::to_string(count) + ", but the vertices before it have " + std::to_string(seen) +
             " labels, and they ascend with the smallest vertex";
    });
    seen += label == seen;
  }
  require(seen == count,
          "components: " + std::to_string(seen) + " labels, but the count is " + std::to_string(count));
}

void components_verify(const CsrView<One>& out, std::int64_t count, std::span<const Index> labels) {
  labels_verify(out.rows, count, labels);
  const Index *label = labels.data(), *to = out.indices - out.first_nnz;
  std::vector<Index> parent(static_cast<std::size_t>(out.rows));
  std::iota(parent.begin(), parent.end(), Index(0));
  std::atomic<std::int64_t> joined = 0;
  parallel_ranges(out.rows, kCcRowsVerified, [&](std::int64_t first, std::int64_t last) {
    std::int64_t mine = 0;
    for (auto u = first; u < last; ++u)
      for (auto k = out.indptr[u]; k < out.indptr[u + 1]; ++k) {
        require(label[u] == label[to[k]], [&] {
          return "components: the edge " + std::to_string(u) + " -> " + std::to_string(to[k]) +
                 " joins labels " + std::to_string(label[u]) + " and " + std::to_string(label[to[k]]);
        });
        mine += join(parent.data(), static_cast<Index>(u), to[k]);
      }
    joined += mine;
    poll_interrupt();
  });
  const auto sets = out.rows - joined;
  require(sets == count, "components: the edges leave " + std::to_string(sets) +
                             " components, but the count is " + std::to_string(count));
}

}  // namespace penstock
