// Which short rows are taken as regular, so that the processor can predict where they end.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock {
namespace {

/// Row offsets of so many rows, whose lengths come in turns.
std::vector<Offset> offsets(const std::vector<Offset>& lengths, std::size_t rows) {
  std::vector<Offset> out{7};
  for (std::size_t r = 0; r < rows; ++r) out.push_back(out.back() + lengths[r % lengths.size()]);
  return out;
}

bool alike(const std::vector<Offset>& indptr) {
  return short_and_alike(indptr.data(), static_cast<std::int64_t>(indptr.size()) - 1);
}

TEST(RowsInTurns, ShortRowsLikeOneOfTheLastSixAreRegular) {
  for (const std::size_t rows : {40, 64, 500}) {
    EXPECT_TRUE(alike(offsets({5}, rows)));
    EXPECT_TRUE(alike(offsets({3, 4}, rows)));
    EXPECT_TRUE(alike(offsets({2, 5, 7}, rows)));
    EXPECT_TRUE(alike(offsets({3, 4, 5, 3, 6, 7}, rows)));
    EXPECT_FALSE(alike(offsets({1, 2, 3, 4, 5, 6, 7}, rows))) << "seven turns";
    EXPECT_FALSE(alike(offsets({8}, rows))) << "rows of 8 are not short";
    EXPECT_FALSE(alike(offsets({9, 9, 6}, rows)));
  }
}

TEST(RowsInTurns, RowsOfRandomLengthsAreNot) {
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<Offset> lengths(200);
    for (auto& n : lengths) n = static_cast<Offset>(random() % 8);
    EXPECT_FALSE(alike(offsets(lengths, 200))) << turn;
  }
}

TEST(RowsInTurns, FewRowsAreComparedWithTheOneBefore) {
  EXPECT_TRUE(alike(offsets({4}, 3)));
  EXPECT_TRUE(alike(offsets({4}, 1)));
  EXPECT_FALSE(alike(offsets({3, 4}, 8)));
}

}  // namespace
}  // namespace penstock
