// Sizes of the pieces of memory where gets of a device's tiles land.
#include <gtest/gtest.h>

#include <algorithm>

#include "penstock/dist/tile/tiles.hpp"

namespace penstock {
namespace {

TEST(TileLanding, HasFewSizes) {
  constexpr std::int64_t largest = 1 << 20;
  std::int64_t before = 0;
  for (std::int64_t bytes = 1; bytes <= largest; bytes += 97) {
    const auto size = landing_bytes(bytes, largest);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size, largest);
    EXPECT_LE(size, std::max<std::int64_t>(2 * bytes, 4096)) << bytes;
    EXPECT_TRUE(size == before || size == 2 * before || before == 0);
    before = size;
  }
  EXPECT_EQ(landing_bytes(100, 5000), 5000);  // small tiles: a piece each
  EXPECT_EQ(landing_bytes(largest + 5, largest), largest + 5);
}

}  // namespace
}  // namespace penstock
