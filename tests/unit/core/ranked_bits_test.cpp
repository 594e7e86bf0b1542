#include "penstock/core/ranked_bits.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penstock {
namespace {

TEST(RankedBits, CountsWhatLiesBelow) {
  for (const std::int64_t size : {0, 1, 63, 64, 65, 1000}) {
    std::mt19937 random(static_cast<unsigned>(size));
    RankedBits set(size);
    std::vector<bool> right(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      if (random() % 3 > 0) continue;
      right[static_cast<std::size_t>(i)] = true;
      if (random() % 2) set.insert(i);
      else set.insert_shared(i), set.insert_shared(i);
    }
    set.seal();
    EXPECT_TRUE(set.given());
    std::vector<std::int64_t> members;
    for (std::int64_t i = 0; i < size; ++i) {
      EXPECT_EQ(set.has(i), right[static_cast<std::size_t>(i)]);
      EXPECT_EQ(set.below(i), std::ssize(members));
      if (right[static_cast<std::size_t>(i)]) members.push_back(i);
    }
    EXPECT_EQ(set.count(), std::ssize(members));
    std::vector<std::int64_t> said;
    set.each([&](std::int64_t i) { said.push_back(i); });
    EXPECT_EQ(said, members);
  }
  EXPECT_FALSE(RankedBits().given());
}

}  // namespace
}  // namespace penstock
