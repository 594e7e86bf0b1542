// Betweenness by its definition: for every pair the share of shortest paths through each vertex, from path counts between
// all pairs, found level by level over all edges.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/betweenness.hpp"

namespace penstock {

void betweenness_verify(const CsrView<One>& a, std::span<const Index> sources,
                        std::span<const double> centrality, const BetweennessOptions& options, double tol) {
  constexpr std::int64_t kMost = 2000;
  require(a.rows == a.cols && std::ssize(centrality) == a.rows,
          "betweenness: one value is needed for each vertex");
  require(a.rows <= kMost, "betweenness_verify is for graphs of at most " + std::to_string(kMost) +
                               " vertices, this one has " + std::to_string(a.rows));
  const auto n = static_cast<std::size_t>(a.rows);
  constexpr auto kFar = std::numeric_limits<Index>::max() / 2;
  std::vector<Index> d(n * n, kFar);
  std::vector<double> paths(n * n, 0.0);
  for (std::size_t s = 0; s < n; ++s) {
    d[s * n + s] = 0, paths[s * n + s] = 1;
    // Level by level over all edges: nothing is shared with the search above.
    for (Index level = 0, found = 1; found; ++level) {
      found = 0;
      for (std::size_t u = 0; u < n; ++u) {
        if (d[s * n + u] != level) continue;
        for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k) {
          const auto v = static_cast<std::size_t>(a.indices[k]);
          if (d[s * n + v] > level + 1) d[s * n + v] = level + 1;
          if (d[s * n + v] == level + 1) paths[s * n + v] += paths[s * n + u], found = 1;
        }
      }
    }
    poll_interrupt();
  }
  std::vector<double> sum(n, 0.0);
  for (const auto source : sources) {
    const auto s = static_cast<std::size_t>(source);
    for (std::size_t t = 0; t < n; ++t) {
      if (t == s || d[s * n + t] >= kFar) continue;
      for (std::size_t v = 0; v < n; ++v) {
        const bool end = v == s || v == t;
        if (end ? options.endpoints : d[s * n + v] + d[v * n + t] == d[s * n + t])
          sum[v] += end ? 1 : paths[s * n + v] * paths[v * n + t] / paths[s * n + t];
      }
    }
    poll_interrupt();
  }
  for (std::size_t v = 0; v < n; ++v) {
    const double right = sum[v];
    if (!(std::abs(centrality[v] - right) <= tol * std::max(right, 1.0)))
      throw Error(Errc::invalid_argument, "betweenness: vertex " + std::to_string(v) + " has " +
                                              std::to_string(right) + ", not " +
                                              std::to_string(centrality[v]));
  }
}

}  // namespace penstock
