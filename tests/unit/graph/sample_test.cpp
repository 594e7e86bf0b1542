// Samples and walks with 1, 2 and 4 threads; every edge that is drawn is looked up in the matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/sample/draws.hpp"
#include "penstock/graph/sample/neighbours.hpp"
#include "penstock/graph/sample/neighbours_gpu.hpp"
#include "penstock/graph/sample/walks.hpp"
#include "penstock/graph/sample/walks_gpu.hpp"
#include "penstock/kernel/structure/sort_rows.hpp"
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

TEST(Sample, HopsThatOneThreadDrawsAreTheBeginningOfLargerOnes) {
  const auto a = test::matrix_of<One>(3000, test::indptr_of(test::Rows::uniform, 3000, 1), 2);
  std::vector<std::int64_t> seeds(3000);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = std::int64_t(i * 7 % 3000);
  const auto drawn = [&](std::size_t count, std::int64_t fanout) {
    graph::VertexTable table(3000, false);
    table.add_seeds({seeds.data(), count}, 0);
    const auto n = table.size();
    const auto hop = graph::sample_hop(a, table, 0, n, table, {.fanout = fanout, .seed = 5}, {});
    return std::vector<std::int64_t>(hop.edges.data, hop.edges.data + hop.edges.size);
  };
  // 8192 edges are drawn by one thread.
  for (const std::int64_t fanout : {0, 1, 4, 5}) {
    const auto all = drawn(3000, fanout);
    for (const std::size_t count : {1u, 127u, 129u, 2048u}) {
      const auto some = drawn(count, fanout);
      ASSERT_LE(some.size(), all.size());
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << count << " of fanout " << fanout;
    }
  }
}

TEST(Sample, SumsAndProductsAreRoundedOneByOne) {
  // Fused, the product would keep its last bit, 2^-60. What a GPU draws by weight has other bits then.
  const volatile double a = 1 + 0x1p-30, b = 1 + 0x1p-29;
  EXPECT_EQ(a * a - b, 0);
}

TEST(Sample, PackedListsGiveWhatTheMatrixGives) {
  const auto offsets = test::indptr_of(test::Rows::one_long, 3000, 1);
  const auto a = sort_rows(test::matrix_of<One>(3000, offsets, 2), true);
  const auto lists = pack_lists(a.view());
  const auto rows = graph::rows_of(lists);
  std::vector<std::int64_t> seeds(3000);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = std::int64_t(i * 7 % 3000);
  const auto before = num_threads();
  set_num_threads(4);
  for (const std::int64_t fanout : {3, 40, -1}) {
    graph::VertexTable table(3000, false), same(3000, false);
    table.add_seeds(seeds, 0), same.add_seeds(seeds, 0);
    const graph::HopOptions how{.fanout = fanout, .replace = fanout == 40, .seed = 5};
    const auto hop = graph::sample_hop(a, table, 0, 3000, table, how, {});
    const auto packed = graph::sample_hop(a, same, 0, 3000, same, how, {}, &rows);
    EXPECT_TRUE(std::ranges::equal(hop.columns.span(), packed.columns.span()));
    EXPECT_TRUE(std::ranges::equal(hop.edges.span(), packed.edges.span()));
  }
  const std::vector<Index> starts(seeds.begin(), seeds.end());
  const graph::WalkOptions how{.length = 20, .restart = 0.1, .seed = 9};
  const auto walks = graph::random_walks(a, starts, {}, how);
  EXPECT_TRUE(std::ranges::equal(walks.span(), graph::packed_walks(rows, starts, how).span()));
  set_num_threads(before);
}

TEST(Sample, ADeviceDrawsWhatTheCpuDraws) {
  // Few vertices and many edges: threads meet in the slots of the device's table.
  const auto a = test::matrix_of<One>(300, test::indptr_of(test::Rows::uniform, 300, 1), 2);
  const graph::DeviceGraph there(a, Where{});
  const Stream stream{nullptr, Where{}};
  std::vector<std::int64_t> seeds(20000);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = std::int64_t(i * 7 % 300);
  const auto before = num_threads();
  set_num_threads(4);
  for (const bool disjoint : {false, true}) {
    graph::VertexTable table(300, disjoint);
    table.add_seeds(seeds, 0);
    graph::DeviceTable numbers(300, disjoint, stream);
    numbers.add_seeds(seeds.data(), std::ssize(seeds), true, 0, 0);
    const auto n = table.size();
    for (const std::int64_t fanout : {3, -1}) {
      const graph::HopOptions how{.fanout = fanout, .seed = 5};
      const auto hop = graph::sample_hop(a, table, 0, n, table, how, {});
      const auto same = graph::sample_hop_on(there, numbers, 0, n, numbers, how);
      ASSERT_EQ(hop.edges.size, same.edges.size);
      EXPECT_TRUE(std::ranges::equal(hop.rows.span(), same.rows.span()));
      EXPECT_TRUE(std::ranges::equal(hop.columns.span(), same.columns.span()));
      EXPECT_TRUE(std::ranges::equal(hop.edges.span(), same.edges.span()));
    }
    ASSERT_EQ(table.size(), numbers.size());
    EXPECT_TRUE(std::equal(table.vertices().begin(), table.vertices().end(), numbers.vertices()));
  }
  std::vector<Index> starts(seeds.begin(), seeds.end());
  const graph::WalkOptions how{.length = 6, .restart = 0.2, .seed = 9};
  const auto walks = graph::random_walks(a, starts, {}, how);
  std::vector<Index> same(std::size_t(walks.size));
  graph::random_walks_on(there, seeds.data(), std::ssize(seeds), false, how, same.data(), stream);
  EXPECT_TRUE(std::ranges::equal(walks.span(), same));
  set_num_threads(before);
}

TEST(Sample, AFilterRulesOutMostPairsAndNoEdge) {
  const auto a = test::matrix_of<One>(3000, test::indptr_of(test::Rows::uniform, 3000, 1), 2);
  const graph::DeviceGraph there(a, Where{});
  EXPECT_EQ(there.filter(1).words, nullptr);  // so few steps are not worth it
  const auto filter = there.filter(a.nnz());
  ASSERT_NE(filter.words, nullptr);
  std::int64_t pairs = 0, not_ruled_out = 0;
  for (Index v = 0; v < 3000; ++v) {
    const std::set<Index> to(a.indices.data + a.indptr.data[v], a.indices.data + a.indptr.data[v + 1]);
    for (const auto u : to) EXPECT_TRUE(filter.may_hold(v, u));
    for (Index u = v % 50; u < 3000; u += 50) {
      if (to.contains(u)) continue;
      ++pairs;
      not_ruled_out += filter.may_hold(v, u);
    }
  }
  EXPECT_GT(pairs, 100000);
  EXPECT_LT(not_ruled_out, pairs / 10);
}

TEST(Sample, LogarithmsAreThoseOfTheLibrary) {
  const Random random(3, 4);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const auto bits = random(i) >> i % 60;  // small numbers, too
    const auto expected = std::log(unit<double>(bits));
    EXPECT_NEAR(graph::log_of_unit(bits), expected, 5e-16 * -expected);
  }
  EXPECT_EQ(graph::log_of_unit(~std::uint64_t{0}), 0);
  EXPECT_EQ(graph::log_of_unit(0), -53 * 0.6931471805599453);
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
