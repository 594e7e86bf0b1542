#include "penstock/core/mapped_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "penstock/core/check_once.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// A file of `bytes` bytes 0, 1, 2, ... that nobody finds.
class Temporary {
 public:
  explicit Temporary(std::int64_t bytes) {
    char name[] = "/tmp/penstock_map_XXXXXX";
    fd = mkstemp(name);
    unlink(name);
    std::vector<char> text(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i);
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(bytes));
  }
  ~Temporary() {
    if (fd >= 0) close(fd);
  }
  int fd = -1;
};

TEST(MappedFile, IsFoundByAddressAsLongAsItsArrayLives) {
  Temporary file(10'000);
  auto a = MappedFile::map(file.fd, 128, 9'872, "a.npy", 77);
  close(std::exchange(file.fd, -1));
  EXPECT_EQ(a.place.memory, Memory::mapped);
  EXPECT_EQ(static_cast<int>(a.data[5]), 133);
  const auto* const first = a.data;
  const auto found = MappedFile::behind(first + 5'000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name(), "a.npy");
  EXPECT_EQ(found->crc32_of(first, 9'872), 77u);
  EXPECT_FALSE(found->crc32_of(first, 9'000));
  EXPECT_FALSE(found->crc32_of(first + 4, 9'868));
  EXPECT_EQ(MappedFile::behind(first - 128), found);
  EXPECT_FALSE(MappedFile::behind(first + 9'872));
  int here = 0;
  EXPECT_FALSE(MappedFile::behind(&here));
  EXPECT_FALSE(MappedFile::behind(nullptr));
}

TEST(MappedFile, GoesWithItsLastOwner) {
  Temporary file(5'000);
  auto a = MappedFile::map(file.fd, 0, 5'000, "a.npy");
  const auto* const first = a.data;
  auto rest = a.slice(100, 50);
  a = {};
  EXPECT_TRUE(MappedFile::behind(first));
  rest = {};
  EXPECT_FALSE(MappedFile::behind(first));
}

TEST(MappedFile, SaysThatItsFileWasCut) {
  Temporary file(10'000);
  const auto a = MappedFile::map(file.fd, 128, 9'872, "the/a.npy");
  const auto found = MappedFile::behind(a.data);
  EXPECT_NO_THROW(found->require_whole());
  ASSERT_EQ(ftruncate(file.fd, 20'000), 0);
  EXPECT_NO_THROW(found->require_whole());
  ASSERT_EQ(ftruncate(file.fd, 9'999), 0);
  std::string what;
  EXPECT_EQ(test::code_of([&] { found->require_whole(); }, &what), Errc::invalid_argument);
  EXPECT_NE(what.find("the/a.npy has 9999 bytes now, 10000 were mapped"), std::string::npos) << what;
  EXPECT_EQ(test::code_of([&] { MappedFile::map(file.fd, 0, 10'000, "b.npy"); }), Errc::invalid_argument);
  EXPECT_EQ(test::code_of([&] { MappedFile::map(file.fd, 0, 0, "b.npy"); }), Errc::invalid_argument);
}

TEST(CheckOnce, ChecksOnceAndAgainAfterAFailure) {
  int calls = 0;
  bool good = false;
  CheckOnce check([&] {
    ++calls;
    require(good, "bad");
  });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(test::code_of([&] { check.require(); }), Errc::invalid_argument);
  EXPECT_FALSE(check.done());
  good = true;
  for (int i = 0; i < 5; ++i) EXPECT_NO_THROW(check.require());
  EXPECT_TRUE(check.done());
  EXPECT_EQ(calls, 3);
  CheckOnce settled([&] { ++calls; });
  settled.settle();
  settled.require();
  EXPECT_EQ(calls, 3);
}

TEST(CheckOnce, SeveralThreadsMakeOneCheck) {
  int calls = 0;  // written by whoever checks: a race would be seen
  CheckOnce check([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++calls;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      check.require();
      EXPECT_TRUE(check.done());
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace penstock
