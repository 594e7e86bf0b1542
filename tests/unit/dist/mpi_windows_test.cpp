#include "penstock/comm/mpi/mpi_windows.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

PenstockMpiHandle handle(int n) { return static_cast<PenstockMpiHandle>(n); }

/// Windows 0 to 3 of communicator 7, of 100, 300, 0 (not to be used again) and 900 bytes; 4 of another one.
MpiWindows some() {
  MpiWindows w;
  const std::int64_t bytes[] = {100, 300, 0, 900, 300};
  for (int n = 0; n < 5; ++n) {
    w.add({handle(n + 1), n < 4 ? 7 : 8, n});
    w.made_last().bytes = bytes[n];
  }
  return w;
}

struct Freed {
  std::vector<std::int64_t> numbers;
  auto note() {
    return [this](const MpiWindows::Entry& e) { numbers.push_back(e.number); };
  }
};

TEST(MpiWindows, OneThatAllHaveGivenUpIsUsedAgain) {
  auto w = some();
  for (const int n : {0, 1, 3}) w.retire(handle(n + 1));
  EXPECT_EQ(w.given_up(7), (std::vector<std::int64_t>{1, 1, 0, 1}));
  EXPECT_EQ(w.given_up(8), std::vector<std::int64_t>{0});
  Freed freed;
  const auto* again = w.take(7, {1, 1, 0, 1}, 250, freed.note());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->number, 1);
  EXPECT_TRUE(again->used);
  EXPECT_EQ(freed.numbers, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(w.given_up(7), (std::vector<std::int64_t>{0, 0}));  // number 2 was in use
}

TEST(MpiWindows, OnesThatOthersUseStay) {
  auto w = some();
  for (int n = 0; n < 4; ++n) w.retire(handle(n + 1));
  Freed freed;
  EXPECT_FALSE(w.take(7, {1, 0, 0, 0}, 250, freed.note()));
  EXPECT_EQ(freed.numbers, std::vector<std::int64_t>{0});
  EXPECT_EQ(w.given_up(7), (std::vector<std::int64_t>{1, 1, 1}));
}

TEST(MpiWindows, NoneIsMoreThanTwiceTooLarge) {
  for (const auto& [bytes, number] : {std::pair{450, 3}, {900, 3}, {901, -1}, {449, -1}, {40, -1}}) {
    auto w = some();
    for (const int n : {2, 3}) w.retire(handle(n + 1));
    Freed freed;
    const auto* again = w.take(7, {0, 0, 1, 1}, bytes, freed.note());
    EXPECT_EQ(again ? again->number : -1, number) << bytes;
    EXPECT_EQ(freed.numbers.size(), again ? 1u : 2u);
  }
}

}  // namespace
}  // namespace penstock
