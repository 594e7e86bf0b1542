// Checks ranks by one step of the power method in float64, which pushes over the edges out of each vertex in a plain loop.
#include <cmath>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"

namespace penstock {

template <class V>
void pagerank_verify(const Csr<V>& a, std::span<const double> ranks, const PageRankVectors& vectors,
                     const PageRankOptions& options) {
  require(a.rows == a.cols && std::ssize(ranks) == a.rows,
          "pagerank: " + std::to_string(ranks.size()) + " ranks for " + std::to_string(a.rows) + " vertices");
  const auto wrong = [](const std::string& what) {
    throw Error(Errc::invalid_argument, "pagerank: " + what);
  };
  const auto n = static_cast<std::size_t>(a.rows);
  if (n == 0) return;
  const auto weight = [&](Offset k) {
    if constexpr (is_pattern<V>) return static_cast<void>(k), 1.0;
    else return static_cast<double>(a.values.data[k]);
  };
  std::vector<double> next(n);
  double dangling = 0, sum = 0, change = 0;
  for (std::size_t u = 0; u < n; ++u) {
    if (!(ranks[u] >= 0)) wrong("vertex " + std::to_string(u) + " has rank " + std::to_string(ranks[u]));
    sum += ranks[u];
    double out = 0;
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) out += weight(k);
    if (!(out > 0)) dangling += ranks[u];
    else
      for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k)
        next[static_cast<std::size_t>(a.indices.data[k])] += ranks[u] * weight(k) / out;
    if (u % 1024 == 0) poll_interrupt();
  }
  const auto personal = vectors.personalization;
  const auto sink = vectors.dangling.empty() ? personal : vectors.dangling;
  for (std::size_t v = 0; v < n; ++v) {
    const double one = 1.0 / static_cast<double>(n);
    const double step = options.alpha * (next[v] + dangling * (sink.empty() ? one : sink[v])) +
                        (1 - options.alpha) * (personal.empty() ? one : personal[v]);
    change += std::abs(step - ranks[v]);
  }
  if (!(std::abs(sum - 1) < 1e-9)) wrong("the ranks add up to " + std::to_string(sum) + " instead of 1");
  if (!(change < options.tol))
    wrong("a step changes the ranks by " + std::to_string(change / options.tol) + " times tol in all");
}

#define X(V)                                                                                    \
  template void pagerank_verify(const Csr<V>&, std::span<const double>, const PageRankVectors&, \
                                const PageRankOptions&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
