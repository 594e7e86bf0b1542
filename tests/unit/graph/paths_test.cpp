#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <queue>

#include "penstock/graph/betweenness/betweenness.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"
#include "penstock/graph/sssp/sssp.hpp"
#include "penstock/graph/sssp/sssp_buckets.hpp"
#include "penstock/graph/triangles/triangles.hpp"
#include "support.hpp"
#include "threads.hpp"

namespace penstock {
namespace {

using test::array_of;
using test::indptr_of;
using test::Rows;
using test::Threads;

/// One row that is longer than a thread takes at once, and weights from 0 on, whole or not.
template <class V>
Csr<V> graph(V scale, std::int64_t rows = 6000) {
  auto a = test::matrix_of<V>(rows, indptr_of(Rows::one_long, rows, 1), 2);
  if constexpr (!is_pattern<V>) {
    std::mt19937 random(3);
    std::vector<V> values(static_cast<std::size_t>(a.nnz()));
    for (auto& v : values) v = static_cast<V>(random() % 100) * scale;
    a.values = array_of(values);
  }
  return a;
}

template <class V>
std::vector<Distance<V>> dijkstra(const Csr<V>& a, Index source) {
  using T = Distance<V>;
  std::vector<T> d(static_cast<std::size_t>(a.rows), std::numeric_limits<T>::infinity());
  std::priority_queue<std::pair<T, Index>, std::vector<std::pair<T, Index>>, std::greater<>> queue;
  d[static_cast<std::size_t>(source)] = 0;
  for (queue.push({0, source}); !queue.empty();) {
    const auto [far, u] = queue.top();
    queue.pop();
    if (far != d[static_cast<std::size_t>(u)]) continue;
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) {
      T to = far;
      if constexpr (is_pattern<V>) to += 1;
      else to += a.values.data[k];
      auto& old = d[static_cast<std::size_t>(a.indices.data[k])];
      if (to < old) old = to, queue.push({to, a.indices.data[k]});
    }
  }
  return d;
}

template <class V>
void check_paths(const Csr<V>& a) {
  const auto weights = path_weights(a);
  for (const Index source : {Index(0), static_cast<Index>(a.rows / 3)}) {
    const auto right = dijkstra(a, source);
    for (const int threads : {1, 4})
      for (const double delta : {0.0, 0.7, 1e6}) {
        const Threads use(threads);
        const auto r = sssp(a, weights, {{source}}, {.delta = delta, .predecessors = true});
        EXPECT_EQ(std::vector(r.distances.data, r.distances.data + a.rows), right);
        sssp_verify<V>(a, {{source}}, r.distances.span(), r.predecessors.span());
      }
  }
}

TEST(Paths, Pattern) { check_paths(graph<One>({})); }
TEST(Paths, Bytes) { check_paths(graph<double>(1)); }
TEST(Paths, TwoBytes) { check_paths(graph<double>(300)); }
TEST(Paths, FourBytes) { check_paths(graph<float>(100'000)); }
TEST(Paths, Float) { check_paths(graph<float>(0.3F)); }
TEST(Paths, Double) { check_paths(graph<double>(0.3)); }
TEST(Paths, BeyondThirtyTwoBits) { check_paths(graph<double>(2e7)); }

TEST(Paths, FarBucketsComeBack) {
  graph::Buckets<double> buckets;
  const graph::BucketOf<double> bucket_of(1);
  std::vector<double> given{3, 1e9, 700, 255, 256, 701, 5e15};
  for (const auto d : given) buckets.push(bucket_of(d), {0, d});
  std::vector<double> taken;
  for (auto b = buckets.next(); b != buckets.kNone; b = buckets.next()) {
    buckets.advance(b, bucket_of);
    for (const auto& visit : buckets.at(b)) taken.push_back(visit.d);
    buckets.at(b).clear();
  }
  std::sort(given.begin(), given.end());
  EXPECT_EQ(taken, given);
}

/// Every edge once in both directions, no self loops.
Csr<One> undirected(std::int64_t rows, std::int64_t edges) {
  std::mt19937 random(5);
  std::vector<std::vector<Index>> to(static_cast<std::size_t>(rows));
  for (std::int64_t k = 0; k < edges; ++k) {
    const auto u = static_cast<Index>(random() % 8 ? random() % static_cast<unsigned>(rows) : random() % 9);
    const auto v = static_cast<Index>(random() % static_cast<unsigned>(rows));
    if (u != v) to[static_cast<std::size_t>(u)].push_back(v), to[static_cast<std::size_t>(v)].push_back(u);
  }
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (auto& row : to) {
    std::sort(row.begin(), row.end());
    indices.insert(indices.end(), row.begin(), std::unique(row.begin(), row.end()));
    indptr.push_back(std::ssize(indices));
  }
  return {rows, rows, array_of(indptr), array_of(indices), {}};
}

TEST(Triangles, AgreeWithTheMergedRows) {
  for (const std::int64_t edges : {2000, 30'000}) {
    const auto a = undirected(1000, edges);
    std::int64_t total = -1;
    for (const int threads : {1, 4}) {
      const Threads use(threads);
      const auto edges = orient_edges(a);
      const auto r = count_triangles(edges, true);
      EXPECT_EQ(count_triangles(edges, false).total, r.total);
      if (total >= 0) {
        EXPECT_EQ(r.total, total);
      }
      total = r.total;
      triangles_verify(a.view(), r.of_vertex.span(), 1 << 30, 0);
      EXPECT_EQ(triangles_recount(a.view()), r.total);
    }
    EXPECT_GT(total, 0);
  }
}

TEST(Ranks, TheSameForAnyThreads) {
  const auto a = undirected(40'000, 60'000);
  for (const double tol : {1e-4, 1e-10}) {
    std::vector<double> first;
    for (const int threads : {1, 4}) {
      const Threads use(threads);
      SpmvPlans<One> plans;
      const auto out = out_weights(a);
      const PageRankOptions options{.tol = tol, .max_iter = 200, .symmetric = true};
      const auto r = pagerank(a, plans, out.span(), {}, options);
      EXPECT_TRUE(r.converged);
      pagerank_verify(a, r.ranks.span(), {}, options);
      const std::vector<double> ranks(r.ranks.data, r.ranks.data + r.ranks.size);
      if (!first.empty()) {
        EXPECT_EQ(ranks, first);
      }
      first = ranks;
    }
  }
}

TEST(Betweenness, TheSameForAnyThreads) {
  const auto a = undirected(300, 500);
  const std::vector<Index> sources{3, 0, 77, 299, 150};
  std::vector<double> first;
  for (const int threads : {1, 4}) {
    const Threads use(threads);
    const auto r = betweenness(a.view(), sources, {.endpoints = true});
    const std::vector<double> sums(r.data, r.data + r.size);
    if (!first.empty()) {
      EXPECT_EQ(sums, first);
    }
    first = sums;
  }
}

}  // namespace
}  // namespace penstock
