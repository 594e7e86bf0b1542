#include "penstock/schedule/schedule.hpp"

#include <gtest/gtest.h>

#include "penstock/schedule/price.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr Where kCpu{}, kGpu{0};

struct Cell {
  Schedule how;
  Memory memory;
  std::string remedy;  // a word of the refusal; empty where the product is allowed
};

// Every schedule on every device times every memory; the matrix of a GPU lies on GPU 0.
std::vector<Cell> table() {
  const auto row = [](const Schedule& how, std::initializer_list<const char*> remedies) {
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < std::size(kMemories); ++i)
      cells.push_back({how, kMemories[i], remedies.begin()[i]});
    return cells;
  };
  std::vector<Cell> all;
  const auto add = [&](const Schedule& how, std::initializer_list<const char*> remedies) {
    for (auto& cell : row(how, remedies)) all.push_back(std::move(cell));
  };
  // clang-format off
  //                               host        mapped      pinned managed device   peer
  add(InCore{kCpu},               {"",         "",         "",    "",     "move it", "move it"});
  add(InCore{kGpu},               {"Streamed", "Streamed", "",    "",     "",        ""});
  add(InCore{Where{1}},           {"Streamed", "Streamed", "",    "",     "move it", ""});
  add(Streamed{{kCpu}},           {"",         "",         "",    "",     "InCore",  ""});
  add(Streamed{{kGpu}},           {"",         "",         "",    "",     "InCore",  ""});
  add(Streamed{{kGpu, Where{1}}}, {"",         "",         "",    "",     "InCore",  ""});
  add(ZeroCopy{kGpu},             {"pinned",   "pinned",   "",    "",     "",        ""});
  add(ZeroCopy{kCpu},             {"",         "",         "",    "",     "pinned",  "pinned"});
  // clang-format on
  return all;
}

TEST(Schedule, EveryCellOfScheduleTimesPlace) {
  const auto cells = table();
  EXPECT_EQ(cells.size(), 8 * std::size(kMemories));
  for (const auto& cell : cells) {
    SCOPED_TRACE(std::string(name(cell.how)) + " x " + std::string(name(cell.memory)));
    const auto ask = [&] { check(cell.how, Place{cell.memory, 0}); };
    if (cell.remedy.empty()) {
      EXPECT_NO_THROW(ask());
      continue;
    }
    std::string what;
    EXPECT_EQ(test::code_of(ask, &what), Errc::not_accessible);
    EXPECT_NE(what.find(cell.remedy), std::string::npos) << what;
    EXPECT_NE(what.find(name(cell.memory)), std::string::npos) << what;
  }
}

TEST(Schedule, RefusesOptionsThatMakeNoSense) {
  const auto code = [](const Schedule& how, std::string_view word) {
    std::string what;
    const auto c = test::code_of([&] { check(how, {}); }, &what);
    EXPECT_NE(what.find(word), std::string::npos) << what;
    return c;
  };
  EXPECT_EQ(code(Streamed{.devices = {}}, "device"), Errc::invalid_argument);
  EXPECT_EQ(code(Streamed{.slots = 0}, "slots = 0"), Errc::invalid_argument);
  EXPECT_EQ(code(Streamed{.block_bytes = -5}, "-5"), Errc::invalid_argument);
  EXPECT_EQ(code(Streamed{.ring_bytes = -7}, "-7"), Errc::invalid_argument);
}

TEST(Price, SaysWhyAMatrixIsStreamed) {
  const Workload work{.place = {}, .matrix_bytes = 1000, .x_bytes = 80, .y_bytes = 80};
  const auto reason = [&](const Schedule& how, std::int64_t memory) {
    return price(how, work, memory, {}).reason;
  };
  EXPECT_NE(reason(InCore{}, 0).find("1000 bytes of matrix in host memory"), std::string::npos);
  EXPECT_NE(reason(Streamed{}, 500).find("1000 bytes of matrix exceed the device memory of 500"),
            std::string::npos);
  for (const std::int64_t memory : {0, 1000})
    EXPECT_NE(reason(Streamed{}, memory).find("asked for"), std::string::npos);
}

TEST(Price, NamesTheSlowestResource) {
  Machine m;
  m.cache_bytes = 1 << 20, m.host_read = 1e9, m.host_copy = 1e9, m.cache_read = 4e9;
  const Workload work{.place = {}, .matrix_bytes = 1 << 30, .x_bytes = 1 << 20, .y_bytes = 1 << 20};
  for (const Schedule& how : {Schedule(InCore{}), Schedule(Streamed{})}) {
    const auto found = price(how, work, 0, m);
    ASSERT_LT(found.binding, found.uses.size());
    for (const auto& use : found.uses) EXPECT_LE(use.seconds(), found.seconds()) << use.resource;
    EXPECT_GE(found.seconds(), static_cast<double>(work.matrix_bytes) / m.host_read);
    EXPECT_FALSE(found.reason.empty());
  }
}

}  // namespace
}  // namespace penstock
