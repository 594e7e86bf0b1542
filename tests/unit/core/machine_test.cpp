#include "penstock/core/machine.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "support.hpp"

namespace penstock {
namespace {

TEST(Machine, TopologyIsPlausible) {
  const auto m = probe_topology();
  EXPECT_GE(m.cpus, 1);
  EXPECT_EQ(m.gpus, device_count());
  EXPECT_GT(m.memory_bytes, 64 << 20);
  EXPECT_GT(m.available_bytes, 0);
  EXPECT_LE(m.available_bytes, m.memory_bytes);
  EXPECT_GE(m.cache_bytes, 128 << 10);
  EXPECT_EQ(m.host_read, 0);  // nothing is measured
}

TEST(Machine, MeasuresOnceAndAnswersAtOnceAfterwards) {
  const auto& m = machine();
  for (const double rate : {m.host_read, m.host_copy, m.cache_read}) {
    EXPECT_GT(rate, 50e6);
    EXPECT_LT(rate, 1e14);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(&machine(), &m);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
}

TEST(CpuFeatures, LevelHasAName) {
  const auto level = name(simd_level());
  EXPECT_TRUE(level == "scalar" || level == "avx2" || level == "avx512" || level == "neon") << level;
}

TEST(Device, HostStreamsCopySynchronously) {
  const OwnedStream stream(Where{});
  const OwnedEvent event(Where{});
  const auto from = test::vector_of<double>(300'000, 1);
  std::vector<double> to(from.size());
  copy_async(to.data(), from.data(), std::ssize(from) * 8, stream);
  record(event, stream);
  wait(stream, event);
  EXPECT_EQ(to, from);
  synchronize(stream);
  copy_async(nullptr, nullptr, 0, stream);  // nothing to copy is no fault
}

TEST(Device, WithoutAGpuAGpuIsRefusedWithARemedy) {
  if (device_count() > 0) GTEST_SKIP() << "there is a GPU";
  std::string what;
  EXPECT_EQ(test::code_of([] { make_stream(Where{0}); }, &what),
            have_cuda ? Errc::not_accessible : Errc::not_compiled);
  EXPECT_NE(what.find(have_cuda ? "install a driver" : "build again"), std::string::npos) << what;
}

}  // namespace
}  // namespace penstock
