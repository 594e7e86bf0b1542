// Which rows of dense tiles travel one by one: where they and their names are clearly fewer bytes than all between.
#include <gtest/gtest.h>

#include "penstock/dist/tile/tiles.hpp"

namespace penstock {
namespace {

constexpr Span kAll{100, 1100};  // 1000 rows

/// The most rows of a span that are named.
constexpr std::int64_t most_named(Span all, std::int64_t row_bytes) {
  std::int64_t met = all.size();
  while (met > 0 && !worth_naming(met, all, row_bytes)) --met;
  return met;
}

static_assert(most_named(kAll, 4) == 437, "8 bytes for each of 4");
static_assert(most_named(kAll, 8) == 583);
static_assert(most_named(kAll, 24) == 749);
static_assert(most_named(kAll, 28) == 765);
static_assert(most_named(kAll, 32) == 874 && most_named(kAll, 4096) == 874, "7/8 of long rows");

TEST(TileNames, AreFewerBytesAtEveryWidth) {
  for (const auto value : {TileValue::byte, TileValue::float32, TileValue::float64})
    for (std::int64_t width = 1; width <= 16; ++width) {
      const auto row = width * bytes_of(value);
      const auto most = most_named(kAll, row);
      EXPECT_GT(most, 0) << width << " columns";
      EXPECT_LT(most * (row + kRowName), kAll.size() * row)
          << width << " columns: names cost more than they save";
      EXPECT_TRUE(worth_naming(1, kAll, row)) << width << " columns: one row of a thousand";
      EXPECT_GE(most, most_named(kAll, row - bytes_of(value)))
          << width << " columns: longer rows are named before";
    }
}

TEST(TileNames, AreNotGivenWhereNothingIsLeftOut) {
  for (std::int64_t row = 1; row <= 64; ++row) {
    EXPECT_FALSE(worth_naming(kAll.size(), kAll, row));
    EXPECT_FALSE(worth_naming(0, {5, 5}, row)) << "no rows at all";
    EXPECT_FALSE(worth_naming(1, {5, 6}, row)) << "a single row is its span";
  }
  EXPECT_FALSE(worth_naming(10, kAll, 0)) << "rows without columns";
}

TEST(TileNames, OfNarrowTilesCountInTheDirectory) {
  const ProcessGrid grid{2, 1};
  for (std::int64_t width = 1; width <= 16; ++width) {
    auto map = tile_map(2000, width, 1000, width, grid, TileValue::float32, false);
    const auto row = width * 4, few = most_named({0, 1000}, row);
    TileAt left{.rows = 1000, .cols = 1000};
    left.in_cols = {0, 1000};
    for (const auto met : {few, few + 1}) {
      left.cols_met = met;
      const bool named = met == few;
      EXPECT_EQ(map.one_by_one(1, 0, met, left.in_cols), named) << width << " columns";
      EXPECT_EQ(map.bytes_for(left, 1, 0), (named ? met : 1000) * row) << width << " columns";
      EXPECT_EQ(map.bytes_of_sum(1, 0, met, left.in_cols), named ? met * (row + kRowName) : 1000 * row);
    }
    map.gathers = false;
    EXPECT_FALSE(map.one_by_one(1, 0, 1, left.in_cols)) << "the transport moves whole ranges alone";
  }
}

}  // namespace
}  // namespace penstock
