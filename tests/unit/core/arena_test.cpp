// Which parts of an arena are taken.
#include "penstock/comm/arena.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

TEST(Arena, TakesTheSmallestHoleAndJoinsWhatIsFreed) {
  Arena a(1024);
  const auto first = a.allocate(100), second = a.allocate(64), third = a.allocate(0), last = a.allocate(500);
  EXPECT_EQ((std::vector{first, second, third, last}), (std::vector<std::int64_t>{0, 128, 192, 256}));
  EXPECT_EQ(a.used(), 768);
  a.free(first);
  a.free(third);
  EXPECT_EQ(a.allocate(60), third) << "64 bytes are free there, 128 at the start, 256 at the end";
  a.free(second);  // joins with the first
  EXPECT_EQ(a.allocate(192), 0);
  a.free(0), a.free(third), a.free(last);
  EXPECT_EQ(a.used(), 0);
  EXPECT_EQ(a.largest_free(), 1024);
  EXPECT_EQ(a.most_used(), 768);
}

TEST(Arena, SaysWhatItHasWhenItIsFull) {
  Arena a(1000, 3);  // 15 blocks of 64
  const auto b = a.allocate_here(500);
  EXPECT_EQ(b.rank, 3);
  for (const std::int64_t bytes : {std::int64_t{449}, std::numeric_limits<std::int64_t>::max()}) {
    try {
      a.allocate(bytes);
      ADD_FAILURE() << bytes << " bytes were found";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::out_of_memory);
      EXPECT_EQ(e.what(),
                "rank 3: no room for " + std::to_string(bytes) +
                    " bytes in its arena of 1000: 512 are taken and 448 are free in one piece: make the "
                    "arena larger, or the tiles smaller");
    }
  }
  EXPECT_EQ(a.allocate(448), 512);
  EXPECT_THROW(Arena(0).allocate(0), Error);
}

TEST(Arena, RefusesWhatItDidNotGive) {
  EXPECT_THROW(Arena(-1), Error);
  Arena a(1024);
  const auto b = a.allocate(200);
  EXPECT_THROW(a.allocate(-1), Error);
  EXPECT_THROW(a.free(b + 64), Error);
  a.free(b);
  EXPECT_THROW(a.free(b), Error);
}

/// Against the plainest of books: a byte of every 64 says whose it is.
TEST(Arena, NoBlockEverOverlapsAnother) {
  constexpr std::int64_t kBytes = 1 << 14;
  std::mt19937_64 random(7);
  Arena a(kBytes);
  std::map<std::int64_t, std::int64_t> held;
  std::int64_t full = 0, taken = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::int64_t bytes = static_cast<std::int64_t>(random() % 2000);
    if (random() % 2 == 0 || held.empty()) {
      const auto rounded = std::max<std::int64_t>(64, (bytes + 63) / 64 * 64);
      if (a.largest_free() < rounded) {
        EXPECT_THROW(a.allocate(bytes), Error);
        ++full;
        continue;
      }
      const auto offset = a.allocate(bytes);
      ASSERT_TRUE(offset >= 0 && offset % 64 == 0 && offset + rounded <= kBytes);
      const auto after = held.lower_bound(offset);
      ASSERT_TRUE(after == held.end() || offset + rounded <= after->first);
      ASSERT_TRUE(after == held.begin() || std::prev(after)->first + std::prev(after)->second <= offset);
      held.emplace(offset, rounded);
      taken += rounded;
    } else {
      const auto one = std::next(held.begin(), static_cast<long>(random() % held.size()));
      a.free(one->first);
      taken -= one->second;
      held.erase(one);
    }
    ASSERT_EQ(a.used(), taken);
  }
  EXPECT_GT(full, 100);
  for (const auto& [offset, bytes] : held) a.free(offset);
  EXPECT_EQ(a.largest_free(), kBytes);
}

}  // namespace
}  // namespace penstock
