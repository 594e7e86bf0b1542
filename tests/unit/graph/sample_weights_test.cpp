// Samples and walks in proportion to weights of any size, against exact probabilities, on the CPU and by a device's steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "penstock/graph/sample/draws.hpp"
#include "penstock/graph/sample/neighbours.hpp"
#include "penstock/graph/sample/neighbours_gpu.hpp"
#include "penstock/graph/sample/walks.hpp"
#include "penstock/graph/sample/walks_gpu.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kDraws = 20000;

/// Vertex 0 has an edge of each weight, to vertices 1, 2, ...
Csr<double> star_of(const std::vector<double>& weights) {
  const auto n = std::ssize(weights);
  Csr<double> a;
  a.rows = a.cols = n + 1;
  const auto indptr = allocate<Offset>(n + 2);
  const auto indices = allocate<Index>(n);
  const auto values = allocate<double>(n);
  std::fill_n(indptr.data, n + 2, n);
  indptr.data[0] = 0;
  std::iota(indices.data, indices.data + n, 1);
  std::ranges::copy(weights, values.data);
  a.indptr = indptr, a.indices = indices, a.values = values;
  return a;
}

/// Edges of kDraws samples of vertex 0, after the device's steps have drawn the same.
std::vector<std::int64_t> draws_of_star(const std::vector<double>& weights, std::int64_t fanout,
                                        bool replace) {
  const auto a = star_of(weights);
  const Stream stream{nullptr, Where{}};
  const std::vector<std::int64_t> seeds(kDraws, 0);
  graph::VertexTable table(a.rows, true);
  table.add_seeds(seeds, 0);
  graph::DeviceTable numbers(a.rows, true, stream);
  numbers.add_seeds(seeds.data(), kDraws, true, 0, 0);
  const graph::HopOptions how{.fanout = fanout, .replace = replace, .weighted = true, .seed = 5};
  const auto hop = graph::sample_hop(a, table, 0, kDraws, table, how, {});
  const graph::DeviceGraph there(a, Where{});
  const auto same = graph::sample_hop_on(there, numbers, 0, kDraws, numbers, how);
  EXPECT_TRUE(std::ranges::equal(hop.edges.span(), same.edges.span()));
  return {hop.edges.data, hop.edges.data + hop.edges.size};
}

/// Fails where counts depart from what is in proportion to `expected` by more than once in 1000 cases, of at most 6 counts.
void expect_fits(const std::vector<std::int64_t>& counts, std::vector<double> expected) {
  const auto largest = *std::ranges::max_element(expected);
  for (auto& p : expected) p /= largest;  // sums of subnormal numbers are rounded
  const auto sum = std::accumulate(expected.begin(), expected.end(), 0.0);
  const auto all = double(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  double square = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto mean = expected[i] / sum * all;
    if (mean < 1e-9) EXPECT_EQ(counts[i], 0) << i;
    else square += (double(counts[i]) - mean) * (double(counts[i]) - mean) / mean;
  }
  EXPECT_LT(square, 20.5);
}

std::vector<std::int64_t> counts_of(const std::vector<std::int64_t>& some, std::size_t n) {
  std::vector<std::int64_t> counts(n);
  for (const auto i : some) ++counts[std::size_t(i)];
  return counts;
}

const std::vector<double> kSubnormal{1e-320, 3e-320, 2e-320, 5e-320}, kFewBits{5e-324, 1e-323, 0, 1.5e-323};

TEST(SampleWeights, KeysAscendAsQuotientsThatAreInRange) {
  const Random random(3, 4);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const auto u = random(4 * i), v = random(4 * i + 1);
    const auto w = std::ldexp(unit<double>(random(4 * i + 2)), int(i % 120) - 60);
    const auto x = std::ldexp(unit<double>(random(4 * i + 3)), int(i % 120) - 58);
    const auto one = -graph::log_of_unit(u) / w, other = -graph::log_of_unit(v) / x;
    EXPECT_EQ(graph::draw_key(u, w) < graph::draw_key(v, x), one < other);
    // A weight half as large moves a key by one binade, down to weights with as many bits as there are.
    EXPECT_EQ(graph::draw_key(u, 0x1p-1060), graph::draw_key(u, 0x1p-1059) + (std::uint64_t{1} << 52));
    EXPECT_LT(graph::draw_key(u, 0x1p-1021), graph::draw_key(u, 0x1.8p-1022));
  }
  const auto least = graph::draw_key(~std::uint64_t{0} << 11, 1), most = graph::draw_key(0, 5e-324);
  EXPECT_EQ(least, 0u);
  EXPECT_LT(graph::draw_key(~std::uint64_t{0} << 12, 0x1.fffffffffffffp1023), graph::draw_key(0, 1e300));
  EXPECT_LT(graph::draw_key(0, 1e-323), most);
  EXPECT_LT(most, ~std::uint64_t{0});  // what edges without weight are sorted by
}

TEST(SampleWeights, WithoutReplacementOneAfterTheOther) {
  for (const auto& w : {kSubnormal, kFewBits, std::vector<double>{1, 3, 2, 5}}) {
    const auto taken = draws_of_star(w, 2, false);
    double scale = 0;
    for (const auto x : w) scale = std::max(scale, x);
    std::vector<double> p, expected;
    double sum = 0;
    for (const auto x : w) p.push_back(x / scale), sum += x / scale;
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < w.size(); ++i)
      for (std::size_t j = i + 1; j < w.size(); ++j) {
        expected.push_back(p[i] * p[j] / (sum - p[i]) + p[i] * p[j] / (sum - p[j]));
        auto& count = counts.emplace_back();
        for (std::size_t k = 0; k < taken.size(); k += 2)
          count += std::min(taken[k], taken[k + 1]) == std::int64_t(i) &&
                   std::max(taken[k], taken[k + 1]) == std::int64_t(j);
      }
    expect_fits(counts, expected);
  }
}

TEST(SampleWeights, WeightsFromSubnormalToOneAreDrawnInTheirOrder) {
  // The third of three draws is one of the two small edges, of which the first comes once in four.
  const auto taken = draws_of_star({1e-320, 1, 3e-320, 2}, 3, false);
  std::vector<std::int64_t> counts(4);
  for (const auto e : taken) ++counts[std::size_t(e)];
  EXPECT_EQ(counts[1], kDraws);
  EXPECT_EQ(counts[3], kDraws);
  expect_fits({counts[0], counts[2]}, {1, 3});
  expect_fits(counts_of(draws_of_star({1e-320, 1e-160, 1, 1.5}, 1, false), 4), {0, 0, 1, 1.5});
  // And large ones, whose keys would be rounded to few bits.
  expect_fits(counts_of(draws_of_star({1e308, 0.5e308, 1e-320, 1e-300}, 1, false), 4), {2, 1, 0, 0});
}

TEST(SampleWeights, WithReplacementAndInWalks) {
  for (const auto& w : {kSubnormal, kFewBits}) {
    expect_fits(counts_of(draws_of_star(w, 3, true), w.size()), w);
    const auto a = star_of(w);
    const std::vector<Index> starts(kDraws, 0);
    const auto largest = graph::largest_weights(a);
    for (const double p : {1.0, 2.0}) {
      const graph::WalkOptions how{.length = 1, .weighted = true, .p = p, .seed = 9};
      const auto walks = graph::random_walks(a, starts, largest.span(), how);
      std::vector<std::int64_t> ends;
      for (std::int64_t i = 1; i < walks.size; i += 2) ends.push_back(walks.data[i] - 1);
      expect_fits(counts_of(ends, w.size()), w);
      graph::DeviceGraph there(a, Where{});
      there.keep_largest(largest);
      std::vector<Index> same(std::size_t(walks.size));
      const std::vector<std::int64_t> from(kDraws, 0);
      graph::random_walks_on(there, from.data(), kDraws, false, how, same.data(), {nullptr, Where{}});
      EXPECT_TRUE(std::ranges::equal(walks.span(), same));
    }
  }
}

}  // namespace
}  // namespace penstock
