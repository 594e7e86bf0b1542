#include "penstock/core/place.hpp"

#include <gtest/gtest.h>

#include "penstock/core/array.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr Where kOnCpu{}, kGpu0{0}, kGpu1{1};

TEST(Place, WhoCanReadWhat) {
  struct Row {
    Memory memory;
    bool cpu, gpu0, gpu1;  // for ordinal 0
  };
  constexpr Row table[] = {{Memory::host, true, false, false},   {Memory::mapped, true, false, false},
                           {Memory::pinned, true, true, true},   {Memory::managed, true, true, true},
                           {Memory::device, false, true, false}, {Memory::peer, false, true, true}};
  ASSERT_EQ(std::size(table), std::size(kMemories));
  for (const auto& row : table) {
    const Place place{row.memory, 0};
    EXPECT_EQ(can_read(kOnCpu, place), row.cpu) << name(row.memory);
    EXPECT_EQ(can_read(kGpu0, place), row.gpu0) << name(row.memory);
    EXPECT_EQ(can_read(kGpu1, place), row.gpu1) << name(row.memory);
  }
}

TEST(Place, NamesAreDistinct) {
  std::vector<std::string_view> names;
  for (const auto m : kMemories) names.push_back(name(m));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(name(Memory::mapped), "mapped");
}

TEST(Array, AllocationIsAlignedAndSlicesShareIt) {
  for (const std::int64_t n : {0, 1, 1000, 5 << 20}) {
    const auto a = allocate<double>(n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data) % 64, 0u) << n;
    EXPECT_EQ(a.bytes(), 8 * n);
  }
  Array<int> tail;
  {
    auto a = allocate<int>(10);
    for (int i = 0; i < 10; ++i) a.data[i] = i;
    tail = a.slice(7, 3);
    EXPECT_EQ(a.owner.use_count(), 2);
  }
  EXPECT_EQ(tail.size, 3);
  EXPECT_EQ(tail.data[2], 9);
}

TEST(Array, RefusesWhatItCannotAllocate) {
  EXPECT_EQ(test::code_of([] { allocate_bytes(-1, {}); }), Errc::invalid_argument);
  EXPECT_EQ(test::code_of([] { allocate_bytes(8, {Memory::mapped}); }), Errc::invalid_argument);
  EXPECT_EQ(test::code_of([] { allocate_bytes(8, {Memory::peer}); }), Errc::invalid_argument);
  std::string what;
  EXPECT_EQ(test::code_of([] { allocate_bytes(std::int64_t(1) << 62, {}); }, &what), Errc::out_of_memory);
  EXPECT_NE(what.find("4611686018427387904"), std::string::npos) << what;
}

}  // namespace
}  // namespace penstock
