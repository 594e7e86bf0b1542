// Checks weak components by an own search: a sequential union of all edges, which must leave as many sets as there are
// labels, and no edge between two labels.
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/cc.hpp"

namespace penstock {
namespace {

Index root_of(std::vector<Index>& parent, Index v) {
  while (parent[static_cast<std::size_t>(v)] != v) {
    auto& p = parent[static_cast<std::size_t>(v)];
    p = parent[static_cast<std::size_t>(p)];
    v = p;
  }
  return v;
}

}  // namespace

void labels_verify(std::int64_t vertices, std::int64_t count, std::span<const Index> labels) {
  require(std::ssize(labels) == vertices, "components: " + std::to_string(labels.size()) +
                                              " labels for a graph of " + std::to_string(vertices) + " vertices");
  std::int64_t seen = 0;
  for (std::int64_t v = 0; v < vertices; ++v) {
    const auto label = labels[static_cast<std::size_t>(v)];
    require(0 <= label && label <= seen && label < count,
            "components: vertex " + std::to_string(v) + " has label " + std::to_string(label) + " of " +
                std::to_string(count) + ", but the vertices before it have " + std::to_string(seen) +
                " labels, and they ascend with the smallest vertex");
    seen += label == seen;
  }
  require(seen == count, "components: " + std::to_string(seen) + " labels, but the count is " + std::to_string(count));
}

void components_verify(const CsrView<One>& out, std::int64_t count, std::span<const Index> labels) {
  labels_verify(out.rows, count, labels);
  std::vector<Index> parent(static_cast<std::size_t>(out.rows));
  std::iota(parent.begin(), parent.end(), Index(0));
  auto sets = out.rows;
  for (std::int64_t u = 0; u < out.rows; ++u) {
    for (auto k = out.indptr[u]; k < out.indptr[u + 1]; ++k) {
      const auto v = out.indices[k - out.first_nnz];
      const auto lu = labels[static_cast<std::size_t>(u)], lv = labels[static_cast<std::size_t>(v)];
      require(lu == lv, "components: the edge " + std::to_string(u) + " -> " + std::to_string(v) + " joins labels " +
                            std::to_string(lu) + " and " + std::to_string(lv));
      const auto a = root_of(parent, static_cast<Index>(u)), b = root_of(parent, v);
      if (a == b) continue;
      parent[static_cast<std::size_t>(a)] = b;
      --sets;
    }
    if (u % 4096 == 0) poll_interrupt();
  }
  require(sets == count, "components: the edges leave " + std::to_string(sets) + " components, but the count is " +
                             std::to_string(count));
}

}  // namespace penstock
