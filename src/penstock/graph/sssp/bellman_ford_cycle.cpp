// Cycles and predecessors of a search over weights of any sign. While distances sink, every vertex points to the one that
// offers it most. If these pointers form no cycle they form a tree, whose paths are no longer than the distances; so a
// search that goes on below the length of every path has a cycle among them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/expand.hpp"
#include "penstock/graph/sssp/bellman_ford_search.hpp"
#include "penstock/graph/sssp/sssp_tree.hpp"

namespace penstock::graph {
namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr std::int64_t kRowsAtOnce = 4 << 10;
// Of the sum of a cycle's sizes: what the weights themselves may have been rounded by.
constexpr double kRoundedBy = 0x1p-50;

/// Calls f(u, v, weight, what v would get) for the edges of all vertices that have been reached, self loops that lower
/// nothing left out.
template <class V, class F>
void for_each_offer(const Roads<V>& a, std::span<const double> d, F&& f) {
  parallel_ranges(a.edges.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      if (!(d[at(u)] < kUnreached)) continue;
      for (auto k = a.edges.indptr[u]; k < a.edges.indptr[u + 1]; ++k) {
        const auto v = a.edges.indices[k];
        const auto w = a.weight(k);
        if (v != u || w < 0) f(static_cast<Index>(u), v, w, d[at(u)] + w);
      }
    }
    poll_interrupt();
  });
}

/// The least weight of the edges from u to v.
template <class V>
double between(const Roads<V>& a, Index u, Index v) {
  double least = kUnreached;
  for (auto k = a.edges.indptr[u]; k < a.edges.indptr[u + 1]; ++k)
    if (a.edges.indices[k] == v) least = std::min(least, a.weight(k));
  return least;
}

/// A cycle along its edges, the smallest vertex first, from pointers that lead back.
std::vector<Index> along(const std::vector<Index>& pick, Index v) {
  std::vector<Index> cycle;
  auto u = v;
  do {
    cycle.push_back(u);
    u = pick[at(u)];
  } while (u != v);
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

template <class V>
void judge(const Roads<V>& a, std::span<const double> d, std::vector<Index> cycle, CycleFound& found) {
  long double sum = 0, size = 0;
  bool sinks = false;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const auto u = cycle[i], v = cycle[(i + 1) % cycle.size()];
    const auto w = between(a, u, v);
    sum += w, size += std::fabs(w);
    sinks |= d[at(u)] + w < d[at(v)];
  }
  if (sum < -kRoundedBy * size) found.negative = std::move(cycle);
  else found.rounding |= sinks;
}

}  // namespace

template <class V>
CycleFound find_cycle(const Roads<V>& a, std::span<const Index> sources, std::span<const double> d) {
  const auto n = a.edges.rows;
  std::vector<double> best(at(n), kUnreached);
  std::vector<Index> pick(at(n), kNobody);
  for_each_offer(a, d, [&](Index, Index v, double, double far) { lower(best[at(v)], far); });
  for_each_offer(a, d, [&](Index u, Index v, double, double far) {
    if (far == best[at(v)] && far <= d[at(v)]) lower(pick[at(v)], u);
  });
  for (const auto s : sources)
    if (!(best[at(s)] < d[at(s)]) && d[at(s)] == 0) pick[at(s)] = kNobody;
  CycleFound found;
  std::vector<Index> seen(at(n), kNobody);  // from which vertex the walk came by
  for (Index v = 0; v < n && found.negative.empty(); ++v) {
    auto u = v;
    for (; u != kNobody && seen[at(u)] == kNobody; u = pick[at(u)]) seen[at(u)] = v;
    if (u != kNobody && seen[at(u)] == v) judge(a, d, along(pick, u), found);
  }
  return found;
}

template <class V>
void shortest_hops(const Roads<V>& a, std::span<const Index> sources, std::span<const double> d,
                   std::span<Index> p) {
  std::fill(p.begin(), p.end(), kNobody);
  std::vector<char> done(p.size());
  std::vector<Index> reached, from;
  for (const auto s : sources)
    if (p[at(s)] == kNobody && d[at(s)] == 0) p[at(s)] = kNone, reached.push_back(s);
  const auto wanted = std::count_if(d.begin(), d.end(), [](double x) { return x < kUnreached; });
  std::vector<std::vector<Index>> lanes(at(num_threads()));
  double scale = 0;
  for (double slack = 0;; slack = slack > 0 ? 16 * slack : kRoundedBy) {
    // What rounding has left without an edge that explains it exactly is reached over one that does so nearly.
    if (slack > 0)
      for (const auto x : d) scale = x < kUnreached ? std::max(scale, std::fabs(x)) : scale;
    const auto near = slack * scale;
    for (from = reached; !from.empty();) {
      for (const auto u : from) done[at(u)] = true;
      expand(Direct{}, a.edges, from, [&](Index u, Index v, Offset k, std::int64_t lane) {
        const auto far = d[at(u)] + a.weight(k);
        if (done[at(v)] || !(far < kUnreached) || !(far - d[at(v)] <= near)) return;
        if (lower(p[at(v)], u)) lanes[at(lane)].push_back(v);
      });
      from.clear();
      for (auto& lane : lanes) {
        from.insert(from.end(), lane.begin(), lane.end());
        lane.clear();
      }
      reached.insert(reached.end(), from.begin(), from.end());
      poll_interrupt();
    }
    if (std::ssize(reached) == wanted || !(near < kUnreached)) break;
  }
  std::replace(p.begin(), p.end(), kNobody, kNone);
}

#define X(V)                                                                                        \
  template CycleFound find_cycle(const Roads<V>&, std::span<const Index>, std::span<const double>); \
  template void shortest_hops(const Roads<V>&, std::span<const Index>, std::span<const double>,     \
                              std::span<Index>);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock::graph
