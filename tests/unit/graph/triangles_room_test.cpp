// What orienting edges on a GPU takes of its memory, and when vertices are renumbered. Neither needs a GPU.
#include <gtest/gtest.h>

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

TEST(TrianglesOrient, RenumbersWhereDegreesDiffer) {
  EXPECT_FALSE(worth_renumbering(0, 0, 0));
  EXPECT_FALSE(worth_renumbering(1000, 1999, 10)) << "cheap in any case";
  EXPECT_FALSE(worth_renumbering(1000, 2500, 100)) << "a regular graph takes 500 * 500 / 100";
  EXPECT_TRUE(worth_renumbering(1000, 3751, 100));
}

}  // namespace
}  // namespace penstock
