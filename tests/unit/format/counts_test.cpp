#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/betweenness/betweenness.hpp"
#include "penstock/graph/triangles/triangles.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// Simple and symmetric; a few scattered vertices take most edges where `skewed`.
Csr<One> graph_of(std::int64_t n, int edges, bool skewed, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Index>> rows(static_cast<std::size_t>(n));
  const auto draw = [&] {
    auto v = static_cast<Index>(random() % static_cast<std::uint64_t>(n));
    for (int i = 0; skewed && i < 15; ++i)
      v = std::min(v, static_cast<Index>(random() % static_cast<std::uint64_t>(n)));
    return v * 577 % static_cast<Index>(n);
  };
  for (int e = 0; e < edges; ++e) {
    const auto u = draw(), v = draw();
    if (u == v) continue;
    rows[static_cast<std::size_t>(u)].push_back(v), rows[static_cast<std::size_t>(v)].push_back(u);
  }
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    indices.insert(indices.end(), row.begin(), std::unique(row.begin(), row.end()));
    indptr.push_back(std::ssize(indices));
  }
  return {n, n, test::array_of(indptr), test::array_of(indices), {}};
}

TEST(Triangles, AsCountedAnewForAnyThreads) {
  const auto before = num_threads();
  for (const bool skewed : {false, true}) {
    const auto a = graph_of(1500, 20000, skewed, 7);
    const auto edges = orient_edges(a);
    EXPECT_EQ(edges.vertex.size > 0, skewed);
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      const auto r = count_triangles(edges, true);
      EXPECT_EQ(r.total, count_triangles(edges, false).total);
      EXPECT_EQ(r.total, triangles_recount(a.view()));
      EXPECT_EQ(triangles_verify(a.view(), r.of_vertex.span(), 1 << 30, 1), a.rows);
      EXPECT_LT(triangles_verify(a.view(), r.of_vertex.span(), 1000, 1), a.rows);
      r.of_vertex.data[5] += 1, r.of_vertex.data[6] += 1, r.of_vertex.data[7] -= 2;
      EXPECT_THROW(triangles_verify(a.view(), r.of_vertex.span(), 1 << 30, 1), Error);
    }
  }
  set_num_threads(before);
}

TEST(Betweenness, SparseAndDenseSourcesAddUpInOrder) {
  const auto before = num_threads();
  auto a = graph_of(900, 1100, false, 3);  // one large part and many small ones
  std::vector<Index> sources(900), some{0, 450, 899};
  std::iota(sources.begin(), sources.end(), 0);
  std::vector<double> first;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const auto sums = betweenness(a.view(), sources, {.endpoints = true});
    betweenness_verify(a.view(), sources, some, sums.span(), {.endpoints = true}, 1e-9);
    if (first.empty()) first.assign(sums.data, sums.data + sums.size);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), sums.data));
    sums.data[450] += 1;
    EXPECT_THROW(betweenness_verify(a.view(), sources, some, sums.span(), {.endpoints = true}, 1e-9), Error);
  }
  set_num_threads(before);
  const std::vector<Index> outside{900};
  EXPECT_THROW(betweenness(a.view(), outside), Error);
}

}  // namespace
}  // namespace penstock
