// Memory of GPUs by another library's allocator: who gets a block back, and what is said where there is none. The fake ones
// give memory of the host, so that no GPU is needed.
#include "penstock/core/gpu_allocator.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"

namespace penstock {
namespace {

constexpr Place kOnGpu{Memory::device, 0};
constexpr Where kCpu{};

/// An allocator that counts. It lives for ever, as allocators must.
struct Fake {
  GpuAllocator allocator;
  std::atomic<int> asked = 0, held = 0, with_stream = 0, refusals = 0;

  explicit Fake(std::string name) {
    allocator.name = std::move(name);
    allocator.allocate = [this](std::int64_t bytes, Where, const std::optional<Stream>& stream) {
      ++asked;
      if (refusals > 0) {
        --refusals;
        throw Error(Errc::out_of_memory, "the fake has nothing left");
      }
      with_stream += stream.has_value();
      ++held;
      return std::shared_ptr<void>(std::malloc(static_cast<std::size_t>(bytes)), [this](void* p) {
        --held;
        std::free(p);
      });
    };
    allocator.room = [](Where, std::int64_t free) { return free + 5; };
    allocator.give_up = [](Where) {};
  }
};
Fake& first() {
  static auto* const fake = new Fake("first");
  return *fake;
}
Fake& second() {
  static auto* const fake = new Fake("second");
  return *fake;
}

class GpuAllocators : public testing::Test {
 protected:
  void TearDown() override {
    set_gpu_allocator(nullptr);
    first().refusals = 0;
    EXPECT_EQ(first().held, 0);
    EXPECT_EQ(second().held, 0);
  }
};

TEST_F(GpuAllocators, BlocksGoBackToWhoeverGaveThem) {
  EXPECT_EQ(gpu_allocator(), nullptr);
  set_gpu_allocator(&first().allocator);
  EXPECT_TRUE(had_gpu_allocator());
  auto a = allocate<double>(100, kOnGpu);
  EXPECT_EQ(a.place, kOnGpu);
  a.data[99] = 1;  // it is the host's
  const auto part = a.slice(50, 50);
  set_gpu_allocator(&second().allocator);
  auto b = allocate<double>(100, kOnGpu);
  EXPECT_EQ(first().held, 1);
  EXPECT_EQ(second().held, 1);
  set_gpu_allocator(nullptr);
  a = {};
  EXPECT_EQ(first().held, 1) << "a part of it is in use";
  b = {};
  EXPECT_EQ(second().held, 0);
}

TEST_F(GpuAllocators, NothingIsKeptForLaterThatIsAnothersOwn) {
  set_gpu_allocator(&first().allocator);
  const auto before = first().asked.load();
  for (int i = 0; i < 3; ++i) {
    const auto block = reuse_bytes(64 << 20, kOnGpu);
    EXPECT_EQ(first().held, 1);
  }
  EXPECT_EQ(first().held, 0);
  EXPECT_EQ(first().asked, before + 3);
  EXPECT_EQ(kept_bytes(kOnGpu), 0);
}

TEST_F(GpuAllocators, WhatIsKeptOfAGpuIsGivenUpForThem) {
  if (device_count() == 0) GTEST_SKIP() << "no GPU";
  { const auto block = reuse_bytes(64 << 20, kOnGpu); }
  const auto in_use = reuse_bytes(32 << 20, kOnGpu);
  ASSERT_GE(kept_bytes(kOnGpu), 64 << 20);
  set_gpu_allocator(&first().allocator);
  EXPECT_EQ(kept_bytes(kOnGpu), 0);
  { const auto shared = reuse_shared(16 << 20, kOnGpu); }
  EXPECT_EQ(kept_bytes(kOnGpu), 0);
}

TEST_F(GpuAllocators, TheHostsMemoryIsNotTheirs) {
  set_gpu_allocator(&first().allocator);
  const auto before = first().asked.load();
  const auto a = allocate<int>(10), b = reuse<int>(1 << 21);
  const auto c = allocate_scratch(100, Stream{});
  EXPECT_EQ(first().asked, before);
}

TEST_F(GpuAllocators, AStreamIsPassedOn) {
  const Stream stream;
  const auto before = first().with_stream.load();
  const auto a = allocate_by(first().allocator, 0, kCpu, stream, "no remedy");
  const auto b = allocate_by(first().allocator, 10, kCpu, std::nullopt, "no remedy");
  EXPECT_NE(a.get(), nullptr) << "no bytes are a block, too";
  EXPECT_EQ(first().with_stream, before + 1);
}

TEST_F(GpuAllocators, WithoutMemoryTheNumbersAndTheRemedyAreSaid) {
  free_kept({});
  first().refusals = 100;
  const auto before = first().asked.load();
  try {
    allocate_by(first().allocator, 12345, kCpu, std::nullopt, "use less");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::out_of_memory);
    const std::string text = e.what();
    for (const auto* part : {"12345 bytes", "GPU -1", "allocator of first", "use less",
                             "free arrays of first", "It said: the fake has nothing left"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
  }
  EXPECT_EQ(first().asked, before + 1) << "nothing was kept, so that asking again is of no use";
}

TEST_F(GpuAllocators, WhatIsKeptForLaterIsGivenUpFirst) {
  { const auto kept = reuse_bytes(32 << 20); }
  ASSERT_GT(kept_bytes({}), 0);
  first().refusals = 1;
  const auto block = allocate_by(first().allocator, 10, kCpu, std::nullopt, "use less");
  EXPECT_NE(block.get(), nullptr);
  EXPECT_EQ(kept_bytes({}), 0);
}

TEST_F(GpuAllocators, OtherErrorsStayAsTheyAre) {
  static GpuAllocator broken = first().allocator;
  broken.allocate = [](std::int64_t, Where, const std::optional<Stream>&) -> std::shared_ptr<void> {
    throw Error(Errc::cuda, "the driver is gone");
  };
  try {
    allocate_by(broken, 10, kCpu, std::nullopt, "use less");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::cuda);
    EXPECT_STREQ(e.what(), "the driver is gone");
  }
}

TEST_F(GpuAllocators, ThreadsMaySwitchWhileOthersAllocate) {
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  set_gpu_allocator(&first().allocator);
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const auto a = allocate_by(*gpu_allocator(), 64, kCpu, std::nullopt, "use less");
        const auto b = a;
      }
    });
  std::thread switching([&] {
    while (!done) {
      set_gpu_allocator(&first().allocator);
      set_gpu_allocator(&second().allocator);
    }
  });
  for (auto& t : threads) t.join();
  done = true;
  switching.join();
}

}  // namespace
}  // namespace penstock
