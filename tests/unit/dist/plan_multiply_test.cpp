#include "penstock/dist/tile/plan_multiply.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "penstock/core/error.hpp"
#include "penstock/dist/tile/tile_spans.hpp"

namespace penstock {
namespace {

constexpr Stationary kKept[] = {Stationary::a, Stationary::b, Stationary::c};

/// Some tiles without entries, where `holes`.
TileMap map_of(std::int64_t down, std::int64_t across, ProcessGrid grid, bool sparse, bool holes,
               std::uint64_t seed) {
  auto map = tile_map(down * 3, across * 3, 3, 3, grid, TileValue::float64, sparse);
  std::mt19937_64 random(seed);
  if (sparse)
    for (auto& t : map.tiles) t.nnz = holes && random() % 3 == 0 ? 0 : 1 + static_cast<Offset>(random() % 9);
  return map;
}

TEST(PlanMultiply, EveryProductOnceOnEveryGrid) {
  for (int rows = 1; rows <= 4; ++rows)
    for (int cols = 1; cols <= 4; ++cols)
      for (std::int64_t m = 1; m <= 4; ++m)
        for (std::int64_t k = 1; k <= 4; ++k)
          for (std::int64_t n = 1; n <= 4; ++n)
            for (const bool sparse : {false, true})
              for (const auto kept : kKept) {
                const ProcessGrid grid{rows, cols};
                const auto seed = static_cast<std::uint64_t>(m * 100 + k * 10 + n);
                const auto a = map_of(m, k, grid, true, sparse, seed),
                           b = map_of(k, n, grid, sparse, true, seed + 1);
                const auto c = product_map(a, b, TileValue::float64);
                const auto plan = plan_multiply(a, b, c, kept);
                std::set<std::tuple<int, int, int>> seen;
                std::set<std::pair<int, int>> turns;
                std::size_t g = 0;
                for (std::size_t p = 0; p < plan.products.size(); ++p) {
                  const auto& x = plan.products[p];
                  EXPECT_TRUE(seen.insert({x.i, x.k, x.j}).second)
                      << "twice: " << x.i << ' ' << x.k << ' ' << x.j;
                  EXPECT_TRUE(turns.insert({x.owner, x.turn}).second) << "one turn twice";
                  EXPECT_LT(x.turn, plan.turns());
                  EXPECT_GT(a.at(x.i, x.k).nnz * b.at(x.k, x.j).nnz, 0);
                  const int owner = kept == Stationary::a   ? a.owner(x.i, x.k)
                                    : kept == Stationary::b ? b.owner(x.k, x.j)
                                                            : c.owner(x.i, x.j);
                  EXPECT_EQ(x.owner, owner);
                  EXPECT_EQ(x.sent == 0, c.owner(x.i, x.j) == owner);
                  while (static_cast<std::int64_t>(p) >= plan.groups[g + 1]) ++g;
                  const auto& first = plan.products[static_cast<std::size_t>(plan.groups[g])];
                  const bool together = kept == Stationary::a   ? x.i == first.i && x.k == first.k
                                        : kept == Stationary::b ? x.k == first.k && x.j == first.j
                                                                : x.i == first.i && x.j == first.j;
                  EXPECT_TRUE(together) << "a group of two stationary tiles";
                }
                EXPECT_EQ(plan.groups.back(), std::ssize(plan.products));
                std::int64_t wanted = 0;
                for (std::int64_t i = 0; i < m; ++i)
                  for (std::int64_t l = 0; l < k; ++l)
                    for (std::int64_t j = 0; j < n; ++j) wanted += a.at(i, l).nnz > 0 && b.at(l, j).nnz > 0;
                EXPECT_EQ(std::ssize(plan.products), wanted);
                EXPECT_EQ(plan.skipped, m * k * n - wanted);
              }
}

TEST(PlanMultiply, CopiesOfCShareOutK) {
  for (int rows = 1; rows <= 4; ++rows)
    for (int cols = 1; cols <= 4; ++cols)
      for (int replicas = 1; replicas <= 4; ++replicas)
        for (const bool sparse : {false, true}) {
          const ProcessGrid grid{rows, cols};
          const auto a = map_of(5, 4, grid, true, false, 1), b = map_of(4, 6, grid, sparse, false, 2);
          const auto c = product_map(a, b, TileValue::float64);
          if (rows % replicas != 0 && cols % replicas != 0) {
            EXPECT_THROW(plan_multiply(a, b, c, Stationary::c, {}, nullptr, replicas), Error);
            continue;
          }
          const auto plan = plan_multiply(a, b, c, Stationary::c, {}, nullptr, replicas);
          ASSERT_EQ(std::ssize(plan.products), 5 * 4 * 6);
          std::set<std::tuple<int, int, int>> seen;
          std::set<std::tuple<int, int, int>> copies;  // i, j, rank
          for (std::size_t g = 0; g + 1 < plan.groups.size(); ++g) {
            const auto& first = plan.products[static_cast<std::size_t>(plan.groups[g])];
            EXPECT_EQ(first.sent > 0, first.owner != c.owner(first.i, first.j));
            EXPECT_TRUE(copies.insert({first.i, first.j, first.owner}).second) << "a copy leaves twice";
            for (auto n = plan.groups[g]; n < plan.groups[g + 1]; ++n) {
              const auto& p = plan.products[static_cast<std::size_t>(n)];
              EXPECT_TRUE(seen.insert({p.i, p.k, p.j}).second) << "twice";
              EXPECT_EQ(std::tuple(p.i, p.j, p.owner), std::tuple(first.i, first.j, first.owner));
              EXPECT_EQ(p.k % replicas, first.k % replicas) << "a rank works for two layers";
              EXPECT_TRUE(n == plan.groups[g] || p.sent == 0);
            }
          }
          EXPECT_EQ(std::ssize(copies), 5 * 6 * replicas);
          for (int i = 0; i < 5; ++i)
            for (int j = 0; j < 6; ++j)
              EXPECT_TRUE(copies.contains({i, j, c.owner(i, j)})) << "no copy is the owner's";
        }
  const auto a = map_of(2, 2, {1, 2}, true, false, 1);
  EXPECT_THROW(plan_multiply(a, a, product_map(a, a, TileValue::float64), Stationary::a, {}, nullptr, 2),
               Error);
  EXPECT_THROW(GridLayers({2, 2}, 0), Error);
}

TEST(PlanMultiply, CopiesFetchLess) {
  const ProcessGrid grid{4, 4};
  const auto a = map_of(16, 16, grid, true, false, 1), b = map_of(16, 16, grid, true, false, 2);
  const auto c = product_map(a, b, TileValue::float64);
  // A layer of 4 x 1 has all columns of C, and a fourth of A's and B's tiles: what a rank asks for, each tile once.
  const auto asked = [&](int replicas) {
    const auto plan = plan_multiply(a, b, c, Stationary::c, {}, nullptr, replicas);
    std::set<std::pair<int, int>> as, bs;
    for (const auto& p : plan.products)
      if (p.owner == 5) as.insert({p.i, p.k}), bs.insert({p.k, p.j});
    return as.size() + bs.size();
  };
  EXPECT_EQ(asked(1), 4u * 16 + 16 * 4);
  EXPECT_EQ(asked(2), 4u * 8 + 8 * 8);
}

TEST(PlanMultiply, OwnersBeginAtDifferentTiles) {
  const ProcessGrid grid{3, 3};
  const auto a = map_of(3, 3, grid, true, false, 1), b = map_of(3, 3, grid, false, false, 2);
  const auto c = product_map(a, b, TileValue::float64);
  for (const auto kept : kKept) {
    const auto plan = plan_multiply(a, b, c, kept);
    for (int step = 0; step < 3; ++step) {  // at no step do two ranks of a row or column ask for one tile
      std::set<std::pair<int, int>> as, bs, cs;
      for (const auto& p : plan.products)
        if (p.turn == step) as.insert({p.i, p.k}), bs.insert({p.k, p.j}), cs.insert({p.i, p.j});
      EXPECT_EQ(as.size(), 9u);
      EXPECT_EQ(bs.size(), 9u);
      EXPECT_EQ(cs.size(), 9u);
    }
  }
}

TEST(PlanMultiply, BytesAndFlops) {
  const ProcessGrid grid{1, 2};
  auto a = tile_map(4, 4, 4, 2, grid, TileValue::float32, true);  // one row of two tiles: ranks 0 and 1
  a.tiles[0].nnz = 5, a.tiles[1].nnz = 3;
  const auto b = tile_map(4, 6, 2, 6, grid, TileValue::float32, false);  // rank 0 has both
  const auto c = product_map(a, b, TileValue::float32);
  const auto plan = plan_multiply(a, b, c, Stationary::a);
  ASSERT_EQ(plan.products.size(), 2u);
  const auto &first = plan.products[0], &second = plan.products[1];
  EXPECT_EQ(first.owner, 0);
  EXPECT_EQ(first.fetched, 0);
  EXPECT_EQ(first.sent, 0);
  EXPECT_EQ(first.flops, 2 * 5 * 6);
  EXPECT_EQ(second.owner, 1);
  EXPECT_EQ(second.fetched, 2 * 6 * 4);
  EXPECT_EQ(second.sent, 4 * 6 * 4);
  const auto all = loads(plan, c);
  EXPECT_EQ(all[0].received, second.sent);
  EXPECT_EQ(all[1].flops, 2 * 3 * 6);
  EXPECT_EQ(a.bytes(0, 1), 5 * 8 + 16 + 12);  // offsets, three columns padded to 8, values
  const auto words = text(plan, c);
  EXPECT_NE(words.find("stationary a: 2 products"), std::string::npos) << words;
  // Expected entries of a product where both are spread evenly, and those that were counted.
  auto s = tile_map(4, 6, 2, 6, grid, TileValue::float32, true);
  s.tiles[0].nnz = 6, s.tiles[1].nnz = 4;
  const auto sc = product_map(a, s, TileValue::float32);
  EXPECT_EQ(plan_multiply(a, s, sc, Stationary::b).products[0].flops, 2 * 5 * 6 / 2);
  const ProductCount counts[] = {{7, 5}, {9, 8}};
  const auto counted = plan_multiply(a, s, sc, Stationary::a, counts);
  EXPECT_EQ(counted.products[1].flops, 18);
  EXPECT_EQ(counted.products[1].sent, 5 * 8 + 32 + 32);
}

TEST(PlanMultiply, RowsWithShortGapsAreOneRange) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Offset> ends{0};
    std::vector<Index> named;
    for (Index r = 0; r < 40; ++r) {
      ends.push_back(ends.back() + (random() % 3 == 0 ? 0 : static_cast<Offset>(random() % 9)));
      if (random() % 3 == 0) named.push_back(r);
    }
    const auto most = static_cast<std::int64_t>(random() % 200);
    RowsAlone alone;
    const auto rows = with_gaps(named, ends.data(), 12, most, alone);
    const std::set<Index> found(rows->begin(), rows->end());
    ASSERT_TRUE(std::ranges::is_sorted(*rows) && found.size() == rows->size());
    Offset entries = 0;
    for (const auto r : found)
      entries += ends[static_cast<std::size_t>(r) + 1] - ends[static_cast<std::size_t>(r)];
    EXPECT_EQ(alone.entries, entries);
    // Ranges by hand: a mark on each entry that travels.
    std::vector<int> travels(static_cast<std::size_t>(ends.back()) + 1), wanted(travels.size());
    for (const auto r : found)
      for (auto e = ends[static_cast<std::size_t>(r)]; e < ends[static_cast<std::size_t>(r) + 1]; ++e)
        travels[static_cast<std::size_t>(e)] = 1;
    for (const auto r : named)
      for (auto e = ends[static_cast<std::size_t>(r)]; e < ends[static_cast<std::size_t>(r) + 1]; ++e)
        wanted[static_cast<std::size_t>(e)] = 1;
    std::int64_t ranges = 0;
    Offset last = -1;
    for (Offset e = 0; e < ends.back(); ++e) {
      const auto at = static_cast<std::size_t>(e);
      if (wanted[at]) {
        const bool near = last >= 0 && (e - last - 1) * 12 <= most;
        for (auto gap = last + 1; near && gap < e; ++gap) EXPECT_TRUE(travels[static_cast<std::size_t>(gap)]);
        last = e;
      }
      EXPECT_GE(travels[at], wanted[at]);
      ranges += travels[at] && (e == 0 || !travels[at - 1]);
    }
    EXPECT_EQ(alone.ranges, ranges);
  }
}

TEST(PlanMultiply, RefusesWhatDoesNotFit) {
  const auto a = tile_map(6, 6, 2, 2, {1, 2}, TileValue::float64, true);
  EXPECT_THROW(plan_multiply(a, tile_map(6, 6, 3, 2, {1, 2}, TileValue::float64, true), a, Stationary::c),
               Error);
  EXPECT_THROW(plan_multiply(a, tile_map(8, 6, 2, 2, {1, 2}, TileValue::float64, true), a, Stationary::c),
               Error);
  EXPECT_THROW(plan_multiply(a, tile_map(6, 6, 2, 2, {1, 3}, TileValue::float64, true), a, Stationary::c),
               Error);
  EXPECT_THROW(stationary("d"), Error);
  EXPECT_THROW(tile_map(-1, 2, 1, 1, {1, 1}, TileValue::float64, true), Error);
  EXPECT_THROW(tile_map(1, 2, 1, 1, {0, 1}, TileValue::float64, true), Error);
  EXPECT_THROW(tile_map(1 << 20, 1 << 20, 1, 1, {1, 1}, TileValue::float64, true), Error);
  EXPECT_EQ(square_grid(12), (ProcessGrid{4, 3}));
  EXPECT_EQ(square_grid(7), (ProcessGrid{7, 1}));
  const auto chosen = tile_map(100, 90, 0, 0, {2, 3}, TileValue::float64, true);
  EXPECT_EQ(chosen.down(), 6);
  EXPECT_EQ(chosen.across(), 6);
  const auto dense = tile_map(100, 90, 0, 0, {3, 2}, TileValue::float64, false);
  EXPECT_EQ(dense.down(), 6);
  EXPECT_EQ(dense.across(), 2) << "rows stay long";
}

}  // namespace
}  // namespace penstock
