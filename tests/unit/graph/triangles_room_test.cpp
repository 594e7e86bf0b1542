// What orienting edges on a GPU takes of its memory, and when vertices are renumbered. Neither needs a GPU.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "penstock/graph/triangles/triangles_orient_gpu.hpp"

namespace penstock {
namespace {

std::int64_t tenth(std::int64_t keys) { return 1000 + keys / 10; }

TEST(TrianglesRoom, HoldsTwoBuffersOfKeysAndTheLists) {
  const std::int64_t n = 1 << 20;
  const Offset entries = 64 << 20, edges = entries / 2;
  const auto bytes = orient_bytes(n, entries, tenth);
  EXPECT_GE(bytes, 16 * edges + tenth(edges) + 8 * n);
  EXPECT_GE(bytes, 16 * edges + 4 * edges + 8 * n);
  EXPECT_LT(bytes, 12 * entries + 50 * n);
  EXPECT_GE(clean_bytes(n, 2 * entries, tenth), 32 * entries + tenth(2 * entries));
}

TEST(TrianglesRoom, VerticesNeedRoomWithoutEdges) {
  const std::int64_t n = 1 << 20;
  EXPECT_GE(orient_bytes(n, 0, tenth), 8 * n + 16 * n + tenth(n));
  EXPECT_GT(orient_bytes(0, 0, tenth), 0);
}

TEST(TrianglesRoom, SizesBeyond32Bits) {
  const auto most = std::int64_t(0x7fffffff);
  EXPECT_GE(orient_bytes(most, Offset(1) << 36, tenth), (Offset(1) << 36) * 8);
}

TEST(TrianglesRoom, RangesTakeWhatIsLeft) {
  const Offset many = Offset(1) << 30;
  for (const std::int64_t left : {std::int64_t(40) << 20, std::int64_t(200) << 20, std::int64_t(1) << 30}) {
    const auto entries = orient_range(left, many, tenth);
    EXPECT_GE(entries, kRangeLeast);
    EXPECT_LE(orient_range_bytes(entries, tenth), left);
    EXPECT_TRUE(entries == Offset(1) << 25 || orient_range_bytes(2 * entries, tenth) > left);
  }
  EXPECT_EQ(orient_range(0, many, tenth), kRangeLeast) << "there must be room for it";
  EXPECT_EQ(orient_range(0, 100, tenth), 100);
}

TEST(TrianglesRoom, RangesCoverAllRowsOnce) {
  const std::vector<Offset> offsets = {0, 0, 3, 3, 7, 8, 12, 12, 12};
  using Case = std::pair<Offset, int>;  // entries at most, ranges
  for (const auto& [most, expected] : {Case{4, 4}, Case{5, 3}, Case{7, 2}, Case{12, 1}, Case{100, 1}}) {
    std::int64_t first = 0, ranges = 0;
    while (first < 8) {
      const auto last = orient_range_end(offsets, first, most);
      ASSERT_GT(last, first);
      ASSERT_LE(last, 8);
      EXPECT_LE(offsets[std::size_t(last)] - offsets[std::size_t(first)], most);
      if (last < 8) {
        EXPECT_GT(offsets[std::size_t(last) + 1] - offsets[std::size_t(first)], most);
      }
      first = last, ++ranges;
    }
    EXPECT_EQ(first, 8);
    EXPECT_EQ(ranges, expected);
  }
}

TEST(TrianglesOrient, RenumbersWhereDegreesDiffer) {
  EXPECT_FALSE(worth_renumbering(0, 0, 0));
  EXPECT_FALSE(worth_renumbering(1000, 1999, 10)) << "cheap in any case";
  EXPECT_FALSE(worth_renumbering(1000, 2500, 100)) << "a regular graph takes 500 * 500 / 100";
  EXPECT_TRUE(worth_renumbering(1000, 3751, 100));
}

}  // namespace
}  // namespace penstock
