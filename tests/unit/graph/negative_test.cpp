// Shortest paths over weights of any sign, and minimum spanning forests.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "penstock/core/error.hpp"
#include "penstock/graph/cc/spanning.hpp"
#include "penstock/graph/sssp/bellman_ford.hpp"
#include "penstock/graph/sssp/weights.hpp"
#include "support.hpp"
#include "threads.hpp"

namespace penstock {
namespace {

using test::array_of;
using test::Threads;

using WeightedEdge = std::tuple<Index, Index, double>;

Csr<double> weighted_graph(std::int64_t rows, std::vector<WeightedEdge> edges) {
  std::stable_sort(edges.begin(), edges.end(), [](const WeightedEdge& a, const WeightedEdge& b) {
    return std::get<0>(a) < std::get<0>(b);
  });
  std::vector<Offset> indptr(at(rows) + 1);
  std::vector<Index> indices;
  std::vector<double> values;
  for (const auto& [u, v, w] : edges) {
    ++indptr[at(u) + 1];
    indices.push_back(v), values.push_back(w);
  }
  std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
  return {rows, rows, array_of(indptr), array_of(indices), array_of(values)};
}

/// Weights from the heights of their ends, so that no cycle is shorter than zero though half of the edges are.
Csr<double> downhill(std::int64_t rows, unsigned seed, double most) {
  std::mt19937 random(seed);
  auto a = test::matrix_of<double>(rows, test::indptr_of(test::Rows::one_long, rows, seed), seed);
  std::vector<double> height(at(rows)), values;
  for (auto& h : height) h = static_cast<double>(random() % 1000);
  for (std::int64_t u = 0; u < rows; ++u)
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k)
      values.push_back(std::floor(static_cast<double>(random()) / 0x1p32 * most) +
                       height[at(a.indices.data[k])] - height[at(u)]);
  a.values = array_of(values);
  return a;
}

std::vector<double> by_passes(const Csr<double>& a, std::span<const Index> sources) {
  std::vector<double> d(at(a.rows), std::numeric_limits<double>::infinity());
  for (const auto s : sources) d[at(s)] = 0;
  for (bool more = true; more;) {
    more = false;
    for (std::int64_t u = 0; u < a.rows; ++u)
      for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) {
        auto& old = d[at(a.indices.data[k])];
        if (const auto far = d[at(u)] + a.values.data[k]; far < old) old = far, more = true;
      }
  }
  return d;
}

void explains(const Csr<double>& a, const BellmanFord& r, Index source) {
  for (Index v = 0; v < a.rows; ++v) {
    const auto u = r.predecessors.data[v];
    if (v == source || !std::isfinite(r.distances.data[v])) {
      EXPECT_EQ(u, -9999);
      continue;
    }
    bool tight = false;
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k)
      tight |= a.indices.data[k] == v && r.distances.data[u] + a.values.data[k] == r.distances.data[v];
    EXPECT_TRUE(tight) << v;
    auto w = v;
    std::int64_t steps = 0;
    for (; r.predecessors.data[w] != -9999 && steps <= a.rows; ++steps) w = r.predecessors.data[w];
    EXPECT_EQ(w, source);
  }
}

TEST(BellmanFord, SameAsPassesForAnyThreads) {
  for (const double most : {0.0, 3.0, 2000.0}) {  // 0: every cycle has length 0
    const auto a = downhill(3000, 7, most);
    for (const Index source : {Index(0), Index(1234)}) {
      const auto right = by_passes(a, {{source}});
      std::vector<Index> tree;
      for (const int threads : {1, 4}) {
        const Threads use(threads);
        const auto r = bellman_ford(a, {{source}}, true);
        ASSERT_TRUE(r.cycle.empty());
        EXPECT_EQ(std::vector(r.distances.data, r.distances.data + a.rows), right);
        explains(a, r, source);
        const std::vector found(r.predecessors.data, r.predecessors.data + a.rows);
        if (tree.empty()) tree = found;
        EXPECT_EQ(tree, found);
      }
    }
  }
}

TEST(BellmanFord, EachSourceHasARow) {
  const auto a = downhill(200, 3, 50);
  std::vector<Index> sources(40);
  std::iota(sources.begin(), sources.end(), Index(5));
  for (const int threads : {1, 4}) {
    const Threads use(threads);
    const auto rows = bellman_ford_each(a, sources, true);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto one = bellman_ford(a, {{sources[i]}}, true);
      const auto first = static_cast<std::int64_t>(i) * a.rows;
      EXPECT_TRUE(std::equal(one.distances.data, one.distances.data + a.rows, rows.distances.data + first));
      EXPECT_TRUE(
          std::equal(one.predecessors.data, one.predecessors.data + a.rows, rows.predecessors.data + first));
    }
  }
  const auto near = bellman_ford(a, sources, false);
  EXPECT_EQ(std::vector(near.distances.data, near.distances.data + a.rows), by_passes(a, sources));
}

TEST(BellmanFord, NegativeCyclesAreNamed) {
  EXPECT_EQ(bellman_ford(weighted_graph(1, {{0, 0, -1.0}}), {{0}}, false).cycle, std::vector<Index>{0});
  // A long way to a cycle that falls short of zero by little.
  std::vector<WeightedEdge> edges;
  for (Index v = 0; v < 500; ++v) edges.push_back({v, v + 1, 1.0});
  edges.push_back({500, 497, -3.0000001});
  for (const int threads : {1, 4}) {
    const Threads use(threads);
    EXPECT_EQ(bellman_ford(weighted_graph(501, edges), {{0}}, true).cycle,
              (std::vector<Index>{497, 498, 499, 500}));
  }
  edges.back() = {500, 497, -3.0};
  EXPECT_TRUE(bellman_ford(weighted_graph(501, edges), {{0}}, true).cycle.empty());
  // One that the source does not reach is none; of several sources the first that reaches one tells.
  const auto two = weighted_graph(6, {{0, 1, 1.0}, {2, 3, 1.0}, {3, 2, -2.0}, {4, 5, -1.0}, {5, 4, 0.0}});
  EXPECT_TRUE(bellman_ford(two, {{0}}, true).cycle.empty());
  EXPECT_EQ(bellman_ford_each(two, {{0, 5, 3}}, true).cycle, (std::vector<Index>{4, 5}));
}

TEST(BellmanFord, RoundingIsNoNegativeCycle) {
  // In float64 0.1 + 0.2 - 0.3 and its like sink a distance a little on each turn, for as long as one looks.
  std::mt19937 random(4);
  const Index n = 300;
  std::vector<double> height;
  for (Index v = 0; v < n; ++v) height.push_back(static_cast<double>(random()) / 0x1p32 * 1000);
  std::vector<WeightedEdge> edges;
  for (Index v = 0; v < n; ++v)
    for (int k = 0; k < 6; ++k) {
      const auto to = static_cast<Index>(random() % static_cast<unsigned>(n));
      if (to != v) edges.push_back({v, to, height[at(to)] - height[at(v)]});
    }
  std::vector<double> first;
  for (const int threads : {1, 4}) {
    const Threads use(threads);
    const auto r = bellman_ford(weighted_graph(n, edges), {{0}}, true);
    ASSERT_TRUE(r.cycle.empty());
    const std::vector found(r.distances.data, r.distances.data + n);
    for (Index v = 0; v < n; ++v) EXPECT_NEAR(found[at(v)], height[at(v)] - height[0], 1e-9);
    for (Index v = 1; v < n; ++v) EXPECT_GE(r.predecessors.data[v], 0);
    if (first.empty()) first = found;
    EXPECT_EQ(first, found);
  }
}

TEST(BellmanFord, WeightsAreLookedAt) {
  EXPECT_EQ(least_weight(weighted_graph(2, {{0, 1, 3.0}, {1, 0, -2.0}})), -2.0);
  EXPECT_EQ(least_weight(weighted_graph(2, {})), std::numeric_limits<double>::infinity());
  for (const double bad : {std::nan(""), -std::numeric_limits<double>::infinity()})
    EXPECT_THROW(least_weight(weighted_graph(2, {{0, 1, bad}})), Error);
  EXPECT_THROW(bellman_ford(weighted_graph(2, {}), {{2}}, false), Error);
}

std::vector<WeightedEdge> sorted(const SpanningForest<double>& f) {
  std::vector<WeightedEdge> edges;
  for (std::int64_t i = 0; i < f.row.size; ++i)
    edges.push_back({f.row.data[i], f.col.data[i], f.values.data[i]});
  std::sort(edges.begin(), edges.end());
  return edges;
}

Csr<double> as_csr(const SpanningForest<double>& f, std::int64_t rows) {
  return weighted_graph(rows, sorted(f));
}

/// Kruskal's algorithm over entries in ascending order of weight and number.
std::vector<WeightedEdge> kruskal(const Csr<double>& a) {
  std::vector<std::tuple<double, Offset, Index>> order;
  for (std::int64_t u = 0; u < a.rows; ++u)
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k)
      order.push_back({a.values.data[k], k, static_cast<Index>(u)});
  std::sort(order.begin(), order.end());
  std::vector<Index> label(at(a.rows));
  std::iota(label.begin(), label.end(), Index(0));
  std::vector<WeightedEdge> tree;
  for (const auto& [w, k, u] : order) {
    const auto v = a.indices.data[k], old = label[at(v)], now = label[at(u)];
    if (old == now) continue;
    std::replace(label.begin(), label.end(), old, now);
    tree.push_back({u, v, w});
  }
  std::sort(tree.begin(), tree.end());
  return tree;
}

TEST(SpanningForest, SameEdgesAsKruskal) {
  for (const unsigned seed : {1U, 2U, 3U})
    for (const double scale : {1.0, 0.01}) {  // with few different weights, and with many
      auto a = test::matrix_of<double>(2000, test::indptr_of(test::Rows::one_long, 2000, seed), seed);
      std::vector<double> values;
      std::mt19937 random(seed);
      for (std::int64_t k = 0; k < a.nnz(); ++k)
        values.push_back(std::floor(static_cast<double>(random() % 1000) * scale) - 5);
      a.values = array_of(values);
      const auto right = kruskal(a);
      for (const int threads : {1, 4}) {
        const Threads use(threads);
        const auto f = minimum_spanning_forest(a, false);
        EXPECT_EQ(sorted(f), right);
        minimum_spanning_forest_verify(a, as_csr(f, a.rows));
      }
    }
}

TEST(SpanningForest, HalfOfAMirrorIsEnough) {
  std::mt19937 random(9);
  std::vector<WeightedEdge> edges;
  for (int k = 0; k < 30'000; ++k) {
    const auto u = static_cast<Index>(random() % 9000), v = static_cast<Index>(random() % 9000);
    const auto w = static_cast<double>(random() % 50);
    edges.push_back({u, v, w}), edges.push_back({v, u, w});
  }
  const auto a = weighted_graph(9000, edges);
  const auto all = minimum_spanning_forest(a, false), half = minimum_spanning_forest(a, true);
  EXPECT_EQ(sorted(all), sorted(half));
  minimum_spanning_forest_verify(a, as_csr(half, a.rows));
}

TEST(SpanningForest, ChainsOfTreesAreShort) {
  // Weights that fall along a path: every vertex chooses the next one, and one round joins them all.
  std::vector<WeightedEdge> edges;
  const Index n = 200'000;
  for (Index v = 0; v + 1 < n; ++v) edges.push_back({v, v + 1, static_cast<double>(n - v)});
  const auto f = minimum_spanning_forest(weighted_graph(n, edges), false);
  EXPECT_EQ(f.row.size, n - 1);
}

TEST(SpanningForest, TheVerifierCatches) {
  const auto a = weighted_graph(4, {{0, 1, 1.0}, {1, 2, 2.0}, {0, 2, 3.0}, {2, 2, -1.0}});
  minimum_spanning_forest_verify(a, weighted_graph(4, {{0, 1, 1.0}, {1, 2, 2.0}}));
  EXPECT_THROW(minimum_spanning_forest_verify(a, weighted_graph(4, {{0, 1, 1.0}, {0, 2, 3.0}})),
               Error);                                                                       // too heavy
  EXPECT_THROW(minimum_spanning_forest_verify(a, weighted_graph(4, {{0, 1, 1.0}})), Error);  // does not span
  EXPECT_THROW(minimum_spanning_forest_verify(a, weighted_graph(4, {{0, 1, 1.0}, {1, 2, 2.0}, {0, 2, 3.0}})),
               Error);
  EXPECT_THROW(minimum_spanning_forest_verify(a, weighted_graph(4, {{0, 1, 1.0}, {1, 2, 1.0}})),
               Error);  // no entry
  EXPECT_THROW(minimum_spanning_forest(weighted_graph(2, {{0, 1, std::nan("")}}), false), Error);
}

}  // namespace
}  // namespace penstock
