// What belongs to the host code of graphs on GPUs and needs none: bytes that others hold, and places of levels.
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "penstock/graph/betweenness/betweenness_gpu_state.hpp"
#include "penstock/graph/gpu/aside.hpp"
#include "support.hpp"

namespace penstock {
namespace {

TEST(Aside, BytesLeaveWithTheLastWhoHoldsThem) {
  AsideBytes aside;
  auto first = aside.hold(100);
  auto second = aside.hold(7);
  const auto again = first;
  EXPECT_EQ(aside.bytes(), 107);
  first.reset();
  EXPECT_EQ(aside.bytes(), 107);
  second.reset();
  EXPECT_EQ(aside.bytes(), 100);
}

TEST(Aside, BytesOutliveTheGraph) {
  std::optional<AsideBytes> aside(std::in_place);
  auto held = aside->hold(5);
  aside.reset();
  held.reset();  // on memory that is still there: a sanitizer would tell
  EXPECT_EQ(held, nullptr);
}

TEST(Aside, ArraysHoldThem) {
  AsideBytes aside;
  auto array = test::array_of(std::vector<int>{1, 2, 3});
  {
    const auto counted = with_account(array, aside.hold(12));
    EXPECT_EQ(counted.data, array.data);
    EXPECT_EQ(counted.size, 3);
    array = {};
    EXPECT_EQ(counted.data[2], 3);
    auto part = counted.slice(1, 2);
    EXPECT_EQ(aside.bytes(), 12);
  }
  EXPECT_EQ(aside.bytes(), 0);
}

TEST(Aside, FromManyThreads) {
  AsideBytes aside;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) aside.hold(i);
      });
  }
  EXPECT_EQ(aside.bytes(), 0);
}

TEST(LevelPlaces, OfASourceHereAndElsewhere) {
  gpu::LevelPlaces here(1), elsewhere(0);
  here.add(5), here.add(2);
  elsewhere.add(0), elsewhere.add(4);
  EXPECT_EQ(here.levels(), 3);
  EXPECT_EQ(here.reached(), 8);
  EXPECT_EQ(here.begin(2), 6);
  EXPECT_EQ(here.size(0), 1);
  EXPECT_EQ(here.size(2), 2);
  EXPECT_EQ(elsewhere.levels(), 3);
  EXPECT_EQ(elsewhere.reached(), 4);
  EXPECT_EQ(elsewhere.size(0), 0);
  EXPECT_EQ(elsewhere.begin(2), 0);
}

}  // namespace
}  // namespace penstock
