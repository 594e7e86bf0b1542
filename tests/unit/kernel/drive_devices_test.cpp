// One host thread a device, and what happens when one of them fails.
#include "penstock/schedule/drive_devices.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "support.hpp"

namespace penstock {
namespace {

TEST(DriveDevices, WorksForEachDeviceOnceAndForTheFirstOnTheCallersThread) {
  std::vector<std::thread::id> by(4);
  drive_devices(
      4, [&](std::size_t i) { by[i] = std::this_thread::get_id(); }, [] { FAIL() << "nothing has failed"; });
  EXPECT_EQ(by[0], std::this_thread::get_id());
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(by[i], by[j]);
}

TEST(DriveDevices, AFailureStopsTheOthersAndIsThrownAfterAllHaveEnded) {
  for (const std::size_t bad : {0, 2}) {
    std::atomic<bool> stop = false;
    std::atomic<int> ended = 0;
    const auto work = [&](std::size_t i) {
      if (i == bad) throw Error(Errc::out_of_memory, "device " + std::to_string(i));
      while (!stop) std::this_thread::yield();
      ++ended;
    };
    std::string what;
    EXPECT_EQ(test::code_of([&] { drive_devices(3, work, [&] { stop = true; }); }, &what),
              Errc::out_of_memory);
    EXPECT_EQ(what, "device " + std::to_string(bad));
    EXPECT_EQ(ended, 2);
  }
}

}  // namespace
}  // namespace penstock
