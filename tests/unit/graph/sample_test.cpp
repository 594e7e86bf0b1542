// Samples and walks with 1, 2 and 4 threads; every edge that is drawn is looked up in the matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/sample/neighbours.hpp"
#include "penstock/graph/sample/walks.hpp"
#include "support.hpp"

namespace penstock {
namespace {

TEST(Sample, HopsDrawEdgesOfTheGraphAndTheSameForAnyThreads) {
  const auto a = test::matrix_of<One>(3000, test::indptr_of(test::Rows::uniform, 3000, 1), 2);
  std::vector<std::int64_t> seeds(2000), first;
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = std::int64_t(i * 7 % 3000);
  const auto before = num_threads();
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    graph::VertexTable table(3000, false);
    table.add_seeds(seeds, 0);
    const auto hop = graph::sample_hop(a, table, 0, table.size(), table, {.fanout = 3, .seed = 5}, {});
    std::vector<std::int64_t> drawn(hop.edges.data, hop.edges.data + hop.edges.size);
    std::vector<std::int64_t> of(seeds.size());
    for (std::int64_t i = 0; i < hop.edges.size; ++i) {
      const auto v = table.vertices()[std::size_t(hop.rows.data[i])], e = drawn[std::size_t(i)];
      EXPECT_TRUE(e >= a.indptr.data[v] && e < a.indptr.data[v + 1]);
      EXPECT_EQ(table.vertices()[std::size_t(hop.columns.data[i])], a.indices.data[e]);
      ++of[std::size_t(hop.rows.data[i])];
    }
    for (std::size_t i = 0; i < seeds.size(); ++i)
      EXPECT_EQ(of[i], std::min<std::int64_t>(3, a.indptr.data[seeds[i] + 1] - a.indptr.data[seeds[i]]));
    if (first.empty()) first = drawn;
    EXPECT_EQ(drawn, first) << threads << " threads";
  }
  set_num_threads(before);
}

TEST(Sample, WalksFollowEdgesAndAreTheSameForAnyThreads) {
  const auto a = test::matrix_of<One>(500, test::indptr_of(test::Rows::uniform, 500, 3), 4);
  std::set<std::pair<Index, Index>> edges;
  for (Index v = 0; v < 500; ++v)
    for (auto k = a.indptr.data[v]; k < a.indptr.data[v + 1]; ++k) edges.emplace(v, a.indices.data[k]);
  std::vector<Index> starts, first;
  for (Index i = 0; i < 3000; ++i) starts.push_back(i % 500);
  const auto before = num_threads();
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    const auto walks = graph::random_walks(a, starts, {}, {.length = 8, .seed = 9});
    const std::vector<Index> all(walks.data, walks.data + walks.size);
    ASSERT_EQ(all.size(), starts.size() * 9);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 9 == 0) {
        EXPECT_EQ(all[i], starts[i / 9]);
      } else if (all[i] >= 0) {
        EXPECT_TRUE(edges.contains({all[i - 1], all[i]}));
      } else if (all[i - 1] >= 0) {
        EXPECT_EQ(a.indptr.data[all[i - 1]], a.indptr.data[all[i - 1] + 1]);
      }
    }
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace penstock
