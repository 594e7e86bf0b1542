// Ranges of vertices for several GPUs, and the threads that drive these.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/graph/cc/forest.hpp"
#include "penstock/graph/gpu/gpu_team.hpp"
#include "penstock/graph/gpu/vertex_parts.hpp"

namespace penstock {
namespace {

std::vector<Offset> offsets_of(const std::vector<Offset>& degrees) {
  std::vector<Offset> offsets{0};
  for (const auto d : degrees) offsets.push_back(offsets.back() + d);
  return offsets;
}

void expect_ranges(const std::vector<std::int64_t>& cuts, std::int64_t n, int parts) {
  ASSERT_GE(cuts.size(), 2u);
  EXPECT_LE(cuts.size(), std::size_t(parts) + 1);
  EXPECT_EQ(cuts.front(), 0);
  EXPECT_EQ(cuts.back(), n);
  for (std::size_t i = 1; i + 1 < cuts.size(); ++i) EXPECT_EQ(cuts[i] % kPartVertices, 0);
  for (std::size_t i = 1; n > 0 && i < cuts.size(); ++i) EXPECT_LT(cuts[i - 1], cuts[i]);
}

TEST(VertexParts, EdgesAreBalanced) {
  std::vector<Offset> degrees(100'000);
  for (std::size_t v = 0; v < degrees.size(); ++v) degrees[v] = Offset(v % 97 + (v < 1000 ? 5000 : 0));
  const auto offsets = offsets_of(degrees);
  for (const int parts : {1, 2, 3, 4, 8}) {
    const auto cuts = cut_vertices(offsets, parts);
    expect_ranges(cuts, 100'000, parts);
    ASSERT_EQ(cuts.size(), std::size_t(parts) + 1);
    const auto share = double(offsets.back() + 100'000) / parts;
    for (int p = 0; p < parts; ++p) {
      const auto begin = cuts[std::size_t(p)], end = cuts[std::size_t(p) + 1];
      const auto cost = offsets[std::size_t(end)] - offsets[std::size_t(begin)] + end - begin;
      EXPECT_NEAR(double(cost), share, (kPartVertices + 1) * 5100.0) << parts << " parts, part " << p;
    }
  }
}

TEST(VertexParts, NoRangeIsEmpty) {
  for (const std::int64_t n : {0, 1, 31, 32, 33, 63, 64, 65, 1000})
    for (const int parts : {1, 2, 3, 8, 100}) {
      expect_ranges(cut_vertices(offsets_of(std::vector<Offset>(std::size_t(n), 0)), parts), n, parts);
      std::vector<Offset> hub(std::size_t(n), 1);
      if (n > 0) hub[std::size_t(n / 2)] = 1 << 20;
      expect_ranges(cut_vertices(offsets_of(hub), parts), n, parts);
    }
  EXPECT_EQ(cut_vertices(offsets_of(std::vector<Offset>(128, 0)), 2),
            (std::vector<std::int64_t>{0, 64, 128}));
  EXPECT_THROW(cut_vertices(offsets_of({1}), 0), Error);
}

TEST(VertexParts, EdgesBeyond32Bits) {
  const std::vector<Offset> offsets{0, Offset(1) << 40};
  EXPECT_EQ(cut_vertices(offsets, 4), (std::vector<std::int64_t>{0, 1}));
  std::vector<Offset> many(1025);
  for (std::size_t v = 0; v < many.size(); ++v) many[v] = Offset(v) << 33;
  EXPECT_EQ(cut_vertices(many, 4), (std::vector<std::int64_t>{0, 256, 512, 768, 1024}));
}

/// Each member's trees, in the rounds of a team, are those of all edges; then all have the first's.
TEST(Pairs, TreesOfAllMembersAreMerged) {
  constexpr Index n = 3000;
  for (int members = 1; members <= 17; ++members) {
    std::vector<std::vector<Index>> parents(static_cast<std::size_t>(members), std::vector<Index>(n));
    std::vector<Index> whole(n);
    std::iota(whole.begin(), whole.end(), 0);
    unsigned draw = 1;
    const auto vertex = [&] { return Index((draw = draw * 1664525 + 1013904223) >> 8) % n; };
    for (auto& own : parents) {
      std::iota(own.begin(), own.end(), 0);
      for (int e = 0; e < n / (2 * members); ++e) {
        const Index u = vertex(), v = vertex();
        graph::Forest(own.data()).unite(u, v);
        graph::Forest(whole.data()).unite(u, v);
      }
    }
    graph::Forest(whole.data()).flatten(0, n);
    for (int round = 0; round < pair_rounds(members); ++round) {
      std::vector<int> given(static_cast<std::size_t>(members), 0);
      for (int me = 0; me < members; ++me) {
        const int giver = pair_giver(me, round, members);
        if (giver < 0) continue;
        ASSERT_TRUE(giver > me && giver < members) << me << " takes from " << giver;
        EXPECT_EQ(++given[static_cast<std::size_t>(giver)], 1) << giver << " gives to one at a time";
        EXPECT_EQ(pair_returner(giver, round), me);
        graph::Forest mine(parents[static_cast<std::size_t>(me)].data());
        for (Index v = 0; v < n; ++v) mine.unite(v, parents[static_cast<std::size_t>(giver)][std::size_t(v)]);
        mine.flatten(0, n);
      }
    }
    graph::Forest(parents[0].data()).flatten(0, n);
    EXPECT_EQ(parents[0], whole) << members << " members";
    std::vector<bool> has(static_cast<std::size_t>(members), false);
    has[0] = true;
    for (int round = pair_rounds(members) - 1; round >= 0; --round)
      for (int me = 0; me < members; ++me)
        if (const int from = pair_returner(me, round); from >= 0) {
          EXPECT_TRUE(has[std::size_t(from)] && !has[std::size_t(me)]) << me << " of " << members;
          has[std::size_t(me)] = true;
        }
    EXPECT_EQ(std::count(has.begin(), has.end(), true), members);
  }
}

/// From the same trees, members join different ones: roots that are none any more, with their parents, tell all of it.
TEST(Pairs, LostRootsTellWhatWasLinked) {
  constexpr Index n = 4000;
  unsigned draw = 3;
  const auto vertex = [&] { return Index((draw = draw * 1664525 + 1013904223) >> 8) % n; };
  for (int extra : {0, 1, 50, 2000, 20'000}) {
    std::vector<Index> start(n);
    std::iota(start.begin(), start.end(), 0);
    for (int e = 0; e < n / 3; ++e) graph::Forest(start.data()).unite(vertex(), vertex());
    graph::Forest(start.data()).flatten(0, n);
    auto whole = start, told = start;
    std::size_t links = 0;
    for (int member = 0; member < 4; ++member) {
      auto own = start;
      for (int e = 0; e < extra; ++e) {
        const Index u = vertex(), v = vertex();
        graph::Forest(own.data()).unite_alone(u, v);  // it shortens paths, as GPUs do
        graph::Forest(whole.data()).unite(u, v);
      }
      for (std::size_t v = 0; v < n; ++v)
        if (start[v] == Index(v) && own[v] != Index(v)) {
          graph::Forest(told.data()).unite(Index(v), own[v]);
          ++links;
        }
    }
    EXPECT_EQ(links > 0, extra > 0);
    graph::Forest(told.data()).flatten(0, n);
    graph::Forest(whole.data()).flatten(0, n);
    EXPECT_EQ(told, whole) << extra << " edges of each member";
  }
}

TEST(Team, MembersReadAfterAMeetingWhatOthersWroteBefore) {
  for (const int members : {1, 2, 5}) {
    Team team(members);
    std::vector<int> written(std::size_t(members), 0);
    std::atomic<int> wrong = 0;
    team.run([&](int me) {
      for (int round = 1; round <= 200; ++round) {
        written[std::size_t(me)] = round;
        team.meet();
        wrong += std::accumulate(written.begin(), written.end(), 0) != round * members;
        team.meet();
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Team, AFailureStopsAll) {
  for (int failing = 0; failing < 4; ++failing)
    for (int at = 0; at < 20; ++at) {
      Team team(4);
      std::atomic<int> rounds = 0;
      const auto run = [&] {
        team.run([&](int me) {
          for (int round = 0; round < 1000; ++round) {
            if (me == failing && round == at) throw std::runtime_error("round " + std::to_string(round));
            team.meet();
            ++rounds;
          }
        });
      };
      EXPECT_THROW(run(), std::runtime_error);
      EXPECT_EQ(rounds, 4 * at) << "all leave at the meeting that one did not come to";
    }
}

TEST(Team, SeveralMayFailAtOnce) {
  Team team(3);
  EXPECT_THROW(team.run([&](int me) {
    team.meet();
    if (me != 1) throw std::runtime_error("one of two");
    team.meet();
    FAIL() << "the others have failed";
  }),
               std::runtime_error);
}

}  // namespace
}  // namespace penstock
