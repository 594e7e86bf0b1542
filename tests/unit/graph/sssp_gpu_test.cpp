// What of shortest paths on GPUs is decided by numbers alone, and what the CPU finds out for them.
#include <gtest/gtest.h>

#include <limits>

#include "penstock/graph/sssp/sssp_gpu_rule.hpp"
#include "penstock/graph/sssp/sssp_gpu_state.hpp"

namespace penstock {
namespace {

TEST(SsspGpuRule, WindowsAreNeverNarrowerThanTheSmallestWeight) {
  EXPECT_EQ(choose_gpu_delta(8, 72, 40, 32), 8);  // a small world: relaxed once
  EXPECT_NEAR(choose_gpu_delta(0, 1, 0.5, 32), 1.0 / 32, 1e-12);
  EXPECT_NEAR(choose_gpu_delta(1, 255, 128, 4), 1020, 1e-9);  // a road: wide
  EXPECT_EQ(choose_gpu_delta(0, 0, 0, 5), 1);                 // every weight is zero
  EXPECT_EQ(choose_gpu_delta(3, 3, 3, 0), 48);                // no edges to speak of
  EXPECT_GT(choose_gpu_delta(0, 1e-308, 1e-310, 1000), 0);
}

TEST(SsspGpuRule, WindowsGrowWhereTheyAreTooSmallToKeepAGpuBusy) {
  const double large = 1e9, few = 1000, many = 1e8;
  double width = 8;
  for (const double next : {12, 18, 27, 40, 40})
    EXPECT_EQ(width = next_width(width, 8, 40, few, large), next);
  EXPECT_EQ(next_width(40, 8, 40, kBusyPathCost, large), 40);
  for (const double next : {20, 10, 8, 8}) EXPECT_EQ(width = next_width(width, 8, 40, many, large), next);
  EXPECT_EQ(next_width(40, 8, 40, few, 2000), 20);           // half of a small graph
  EXPECT_EQ(next_width(1020, 1020, 128, few, large), 1020);  // wider than the widest: it stays
  EXPECT_EQ(next_width(5, 5, 5, few, large), 5);             // given by the caller
}

TEST(SsspGpuRule, SidesAreComparedByWhatComesOverTheLink) {
  EXPECT_LT(path_cost(100, 0), path_cost(40, 40));
  EXPECT_GT(path_cost(200, 10), path_cost(40, 40));
  EXPECT_FALSE(may_pull(1000, 64000));
  EXPECT_TRUE(may_pull(1001, 64000));
}

TEST(SsspGpuRule, WindowsThatFitTheOneKernelMode) {
  EXPECT_TRUE(is_small_window(1, 1, 1));
  EXPECT_FALSE(is_small_window(kSmallNear, 1, kSmallNear));
  EXPECT_FALSE(is_small_window(1, kSmallPathEdges, 1));
  EXPECT_FALSE(is_small_window(1, 1, kSmallFar));
}

template <class D>
class PathKeys : public ::testing::Test {};
using Lengths = ::testing::Types<std::uint32_t, float, double>;
TYPED_TEST_SUITE(PathKeys, Lengths);

TYPED_TEST(PathKeys, HaveTheOrderOfTheLengths) {
  using D = TypeParam;
  D before{};
  for (const double length : {0.0, 1.0, 2.0, 255.0, 1e6, 2147483647.0}) {
    const auto d = static_cast<D>(length);
    EXPECT_EQ(gpu::length_of<D>(gpu::key_of(d)), d);
    EXPECT_LT(gpu::key_of(d), gpu::kNoPath<D>);
    if (length > 0) {
      EXPECT_LT(gpu::key_of(before), gpu::key_of(d));
    }
    before = d;
  }
}

TEST(PathSegments, AreCountedForTheWorstCase) {
  // Lists of one entry above the limit, each beginning 31 entries off: two segments, and three are reckoned.
  constexpr Offset length = gpu::kPathSegment + 1;
  for (const Offset lists : {0, 1, 1000})
    EXPECT_GE(gpu::most_path_segments(lists * length),
              lists * ((length + 31 + gpu::kPathSegment - 1) / gpu::kPathSegment));
}

}  // namespace
}  // namespace penstock
