// Samples of neighbours that the CPU makes: which neighbours, in which slots, and what a check finds.
#include "penstock/graph/gpu/neighbour_sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

struct Graph {
  explicit Graph(std::vector<std::vector<Index>> lists) {
    for (const auto& list : lists) {
      edges.insert(edges.end(), list.begin(), list.end());
      offsets.push_back(std::ssize(edges));
    }
  }
  CsrView<One> view() const {
    const auto n = std::ssize(offsets) - 1;
    return {.rows = n, .cols = n, .indptr = offsets.data(), .indices = edges.data()};
  }
  std::vector<Offset> offsets{0};
  std::vector<Index> edges;
};

std::vector<std::uint32_t> slots_of(const NeighbourSample& s, std::int64_t v) {
  return {s.slots.data + v * s.size, s.slots.data + (v + 1) * s.size};
}

/// Vertices 0 to 9, of degrees 9, 7 (with repeats), 5, 4, 3, 3, 1, 0, 0, 0.
Graph sample_graph() {
  return Graph({{1, 2, 3, 4, 5, 6, 7, 8, 9},
                {5, 5, 0, 0, 6, 6, 9},
                {9, 8, 7, 4, 5},
                {3, 0, 1, 2},
                {0, 9, 1},
                {2, 2, 2},
                {0},
                {},
                {},
                {}});
}

TEST(NeighbourSample, HighestDegreesFirstThenSmallerVertices) {
  const auto g = sample_graph();
  const auto s = sample_neighbours(g.view(), 4, SampleOf::highest_degree);
  EXPECT_EQ(slots_of(s, 0), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(slots_of(s, 1), (std::vector<std::uint32_t>{0, 5, 6, 9})) << "each once";
  EXPECT_EQ(slots_of(s, 2), (std::vector<std::uint32_t>{4, 5, 7, 8})) << "equal degrees: the smaller vertex";
}

TEST(NeighbourSample, ShortListsAreWhole) {
  const auto g = sample_graph();
  for (const auto kind : {SampleOf::highest_degree, SampleOf::first}) {
    const auto s = sample_neighbours(g.view(), 4, kind);
    EXPECT_EQ(slots_of(s, 3), (std::vector<std::uint32_t>{3, 0, 1, 2 | kWholeList})) << "as they are stored";
    EXPECT_EQ(slots_of(s, 5), (std::vector<std::uint32_t>{2, 2, 2, kNoVertex | kWholeList}));
    EXPECT_EQ(slots_of(s, 9),
              (std::vector<std::uint32_t>{kNoVertex, kNoVertex, kNoVertex, kNoVertex | kWholeList}));
  }
  const auto eight = sample_neighbours(g.view(), 8, SampleOf::highest_degree);
  EXPECT_EQ(slots_of(eight, 1), (std::vector<std::uint32_t>{5, 5, 0, 0, 6, 6, 9, kNoVertex | kWholeList}));
}

TEST(NeighbourSample, FirstOnes) {
  const auto s = sample_neighbours(sample_graph().view(), 4, SampleOf::first);
  EXPECT_EQ(slots_of(s, 0), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(slots_of(s, 1), (std::vector<std::uint32_t>{5, 5, 0, 0})) << "as stored, twice too";
}

TEST(NeighbourSample, FewerDistinctNeighboursThanSlots) {
  const Graph g({{1, 1, 1, 1, 2, 2}, {0}, {}});
  const auto s = sample_neighbours(g.view(), 4, SampleOf::highest_degree);
  EXPECT_EQ(slots_of(s, 0), (std::vector<std::uint32_t>{1, 2, kNoVertex, kNoVertex}));
}

TEST(NeighbourSample, LongListsAreLookedAtSoFar) {
  std::vector<std::vector<Index>> lists(4);
  lists[0].assign(static_cast<std::size_t>(kSampleLook), 1);
  lists[0].push_back(2);
  lists[2] = {0, 1, 3};
  const Graph g(lists);
  const auto s = sample_neighbours(g.view(), 4, SampleOf::highest_degree);
  EXPECT_EQ(slots_of(s, 0), (std::vector<std::uint32_t>{1, kNoVertex, kNoVertex, kNoVertex}));
}

TEST(NeighbourSample, ChecksFindWhatIsNotOfTheGraph) {
  std::vector<std::vector<Index>> lists;
  unsigned draw = 7;
  for (int v = 0; v < 20'000; ++v) {
    auto& list = lists.emplace_back();
    for (int i = 0; i < v % 23; ++i)
      list.push_back(Index((draw = draw * 1664525 + 1013904223) >> 8) % 20'000);
  }
  const Graph g(lists);
  for (const int size : {4, 8, 16})
    for (const auto kind : {SampleOf::highest_degree, SampleOf::first}) {
      const auto s = sample_neighbours(g.view(), size, kind);
      for (const bool every : {false, true}) check_sample(g.view(), s, every);
      std::vector<std::uint32_t> other(s.slots.data, s.slots.data + s.slots.size);
      std::swap(other[std::size_t(12'345 * size)], other[std::size_t(12'345 * size + 1)]);
      auto damaged = s;
      damaged.slots.data = other.data();
      try {
        check_sample(g.view(), damaged, true);
        ADD_FAILURE() << "two slots are exchanged, of " << size;
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("vertex 12345 "), std::string::npos) << e.what();
      }
      std::fill(other.begin(), other.end(), 5u);
      EXPECT_THROW(check_sample(g.view(), damaged, false), Error);
    }
  auto s = sample_neighbours(g.view(), 4, SampleOf::first);
  s.size = 8;
  EXPECT_THROW(check_sample(g.view(), s, false), Error) << "half the slots";
  EXPECT_THROW(sample_neighbours(g.view(), 5, SampleOf::first), Error);
  EXPECT_EQ(sample_neighbours(Graph({}).view(), 4, SampleOf::first).slots.size, 0);
  auto wide = g.view();
  wide.cols = 1;
  EXPECT_THROW(sample_neighbours(wide, 4, SampleOf::first), Error);
}

}  // namespace
}  // namespace penstock
