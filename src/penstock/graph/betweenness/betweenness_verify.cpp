// Checks sums of betweenness by the definition instead of by dependencies. Shortest paths from s to t lead through v if
// d(s, v) + d(v, t) = d(s, t); then their share is paths(s, v) paths(v, t) / paths(s, t). And each path has one inner vertex
// less than edges, so that all sums together are the sum of distances minus one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/betweenness/betweenness.hpp"

namespace penstock {
namespace {

constexpr Index kFar = -1;

/// For every vertex, its distance from one vertex in edges, and the logarithm of the number of paths. No count is too large as
/// a logarithm.
struct Reach {
  std::vector<Index> distance;
  std::vector<double> paths;
};

/// Takes one level after the other: first finds the new vertices, then adds up the paths that lead to each of them.
Reach reach_from(const CsrView<One>& a, Index source) {
  const auto n = static_cast<std::size_t>(a.rows);
  Reach r{std::vector<Index>(n, kFar), std::vector<double>(n, -std::numeric_limits<double>::infinity())};
  std::vector<Index> now{source}, later;
  r.distance[static_cast<std::size_t>(source)] = 0, r.paths[static_cast<std::size_t>(source)] = 0;
  const auto for_row = [&](Index u, auto&& f) {
    for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k)
      f(static_cast<std::size_t>(a.indices[k - a.first_nnz]));
  };
  std::vector<double> sum(n, 0.0);
  for (Index level = 1; !now.empty(); ++level, now.swap(later), later.clear()) {
    for (const auto u : now)
      for_row(u, [&](std::size_t v) {
        if (r.distance[v] == kFar) r.distance[v] = level, later.push_back(static_cast<Index>(v));
      });
    // Sums of powers, relative to each vertex's largest one.
    for (const auto u : now)
      for_row(u, [&](std::size_t v) {
        if (r.distance[v] == level) r.paths[v] = std::max(r.paths[v], r.paths[static_cast<std::size_t>(u)]);
      });
    for (const auto u : now)
      for_row(u, [&](std::size_t v) {
        if (r.distance[v] == level) sum[v] += std::exp(r.paths[static_cast<std::size_t>(u)] - r.paths[v]);
      });
    for (const auto v : later)
      r.paths[static_cast<std::size_t>(v)] += std::log(sum[static_cast<std::size_t>(v)]);
    poll_interrupt();
  }
  return r;
}

/// The share of the paths from one source that lead through v.
double through(const Reach& from_source, const Reach& from_v, Index source, Index vertex, bool endpoints) {
  const auto v = static_cast<std::size_t>(vertex), s = static_cast<std::size_t>(source);
  if (from_source.distance[v] == kFar) return 0;
  double sum = 0;
  for (std::size_t t = 0; t < from_source.distance.size(); ++t) {
    if (t == s || from_source.distance[t] == kFar) continue;
    if (v == s || v == t) {
      sum += endpoints;
      continue;
    }
    if (from_v.distance[t] == kFar || from_source.distance[v] + from_v.distance[t] != from_source.distance[t])
      continue;
    sum += std::exp(from_source.paths[v] + from_v.paths[t] - from_source.paths[t]);
  }
  return sum;
}

}  // namespace

void betweenness_verify(const CsrView<One>& a, std::span<const Index> sources,
                        std::span<const Index> vertices, std::span<const double> sums,
                        const BetweennessOptions& options, double tol) {
  require(std::ssize(sums) == a.rows, "betweenness: " + std::to_string(sums.size()) +
                                          " values for a graph of " + std::to_string(a.rows) + " vertices");
  const auto differ = [&](double found, double right) {
    return !(std::abs(found - right) <= tol * std::max(right, 1.0));
  };
  std::vector<Reach> from_vertex(vertices.size());
  parallel_for(std::ssize(vertices), [&](std::int64_t i) {
    from_vertex[static_cast<std::size_t>(i)] = reach_from(a, vertices[static_cast<std::size_t>(i)]);
  });
  std::vector<double> right(vertices.size()), inside(sources.size());
  const auto block = std::max<std::int64_t>(num_threads(), 16);
  std::vector<std::vector<double>> part(static_cast<std::size_t>(block));
  for (std::int64_t first = 0; first < std::ssize(sources); first += block) {
    const auto count = std::min(block, std::ssize(sources) - first);
    parallel_for(count, [&](std::int64_t i) {
      const auto number = static_cast<std::size_t>(first + i);
      const auto reach = reach_from(a, sources[number]);
      auto& mine = part[static_cast<std::size_t>(i)];
      mine.assign(vertices.size(), 0.0);
      for (std::size_t k = 0; k < vertices.size(); ++k) {
        mine[k] = through(reach, from_vertex[k], sources[number], vertices[k], options.endpoints);
        poll_interrupt();
      }
      for (const auto d : reach.distance)
        if (d > 0) inside[number] += options.endpoints ? d + 1 : d - 1;
    });
    for (std::int64_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < vertices.size(); ++k) right[k] += part[static_cast<std::size_t>(i)][k];
  }
  for (std::size_t k = 0; k < vertices.size(); ++k)
    if (const auto found = sums[static_cast<std::size_t>(vertices[k])]; differ(found, right[k]))
      throw Error(Errc::invalid_argument, "betweenness: the sum at vertex " + std::to_string(vertices[k]) +
                                              " is " + std::to_string(right[k]) + ", not " +
                                              std::to_string(found));
  double all = 0, found = 0;
  for (const auto x : inside) all += x;
  for (const auto x : sums) found += x;
  if (differ(found, all))
    throw Error(Errc::invalid_argument, "betweenness: the sums add up to " + std::to_string(found) +
                                            ", but by the distances to " + std::to_string(all));
}

}  // namespace penstock
