// Lists that several lanes of a warp pack together, by threads in their place, beside the CPU's one lane.
#include <array>
#include <atomic>
#include <barrier>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "penstock/graph/gpu/packed_encode.hpp"

namespace penstock {
namespace {

constexpr int kThreads = 8;

struct Meeting {
  std::barrier<> meet{kThreads};
  std::array<std::uint32_t, kThreads> told[2] = {};  // in turn: nobody is two meetings ahead
};

/// One of eight threads.
class ThreadLane {
 public:
  static constexpr int kCount = kThreads;
  ThreadLane(Meeting& all, int number) : all_(all), number_(number) {}
  int number() const { return number_; }
  int sum(int mine) const {
    int sum = 0;
    for (const auto x : tell(std::uint32_t(mine))) sum += int(x);
    return sum;
  }
  int most(int mine) const {
    int most = mine;
    for (const auto x : tell(std::uint32_t(mine))) most = std::max(most, int(x));
    return most;
  }
  std::uint32_t either(std::uint32_t mine) const {
    std::uint32_t bits = 0;
    for (const auto x : tell(mine)) bits |= x;
    return bits;
  }
  int before(int mine) const {
    const auto& told = tell(std::uint32_t(mine));
    int sum = 0;
    for (int i = 0; i < number_; ++i) sum += int(told[std::size_t(i)]);
    return sum;
  }
  void or_into(std::uint32_t* word, std::uint32_t bits) const { std::atomic_ref(*word).fetch_or(bits); }

 private:
  const std::array<std::uint32_t, kThreads>& tell(std::uint32_t mine) const {
    auto& told = all_.told[turn_ ^= 1];
    told[std::size_t(number_)] = mine;
    all_.meet.arrive_and_wait();
    return told;
  }
  Meeting& all_;
  int number_;
  mutable int turn_ = 0;
};

struct Case {
  std::vector<Index> columns;
  Index vertex = 0;
  bool more = false;
  std::int64_t at = 0;  // the bit where it goes

  ListPart part() const { return {columns.data(), int(columns.size()) - more, vertex, more}; }
};

constexpr std::int64_t kCols = 1 << 30;

std::vector<Case> some_lists() {
  std::mt19937 random(5);
  std::vector<Case> out;
  for (const int size : {0, 1, 2, 8, 9, 31, 32, 33, 34, 63, 64, 65, 97, 1022, 1024})
    for (const int reach : {0, 5, 20}) {
      Case one;
      std::set<Index> columns;
      const auto range = std::min<std::int64_t>(kCols, std::int64_t(size + 1) << reach);
      while (std::ssize(columns) < size) columns.insert(Index(random() % std::uint64_t(range)));
      one.columns.assign(columns.begin(), columns.end());
      one.vertex = Index(random() % kCols);
      one.more = size == 1024;
      if (one.more) one.columns.push_back(one.columns.back() + 5);
      one.at = random() % 100;
      out.push_back(one);
    }
  return out;
}

PackedCode some_code(std::uint32_t step) {
  PackedCode code;
  code.table_bits = 2, code.step = step;
  const std::uint32_t tables[] = {0x03020100, 0x0a060301, 0x140c0804, 0x1f181008};
  std::copy_n(tables, 4, code.tables);
  for (int t = 4; t < kPackedTables; ++t) code.tables[t] = tables[3];
  for (int level = 0; level < kGapWidths; ++level)
    code.table_of[level] = std::uint8_t(level < 2 ? 0 : level < 6 ? 1 : 2);
  return code;
}

struct Packed {
  PartSize size;
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(1800);
};
/// Lengths of 13 bits for a list's entries; lists of even vertices are packed without.
std::vector<std::uint16_t> lengths_of(const Case& list) {
  std::vector<std::uint16_t> out;
  for (std::size_t i = 0; i < list.columns.size(); ++i) out.push_back(std::uint16_t(3 + (i * 40503 & 8191)));
  return out;
}
template <class Lanes>
void pack(const Case& list, const PackedCode& code, Packed& out, const Lanes& lanes) {
  const auto size = size_of_part(code, list.part(), kCols, lanes);
  const auto lengths = lengths_of(list);
  if (!size.fault && list.part().count > 0) {
    if (list.vertex % 2 == 0)
      write_part(code, list.part(), NoLengths{}, size.table, out.words.data(), list.at, lanes);
    else
      write_part(code, list.part(), EdgeLengths<std::uint16_t>{lengths.data(), 3, 13}, size.table,
                 out.words.data(), list.at, lanes);
  }
  if (lanes.number() == 0) out.size = size;
}

std::vector<Packed> by_threads(const std::vector<Case>& lists, const PackedCode& code) {
  std::vector<Packed> out(lists.size());
  Meeting all;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const ThreadLane lane(all, t);
      for (std::size_t i = 0; i < lists.size(); ++i) pack(lists[i], code, out[i], lane);
    });
  threads.clear();
  return out;
}

TEST(PackedLanes, PackWhatOneLanePacks) {
  const auto lists = some_lists();
  for (const std::uint32_t step : {0, 1}) {
    const auto code = some_code(step);
    const auto found = by_threads(lists, code);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      Packed want;
      pack(lists[i], code, want, OneLane{});
      EXPECT_EQ(found[i].size.table, want.size.table);
      EXPECT_EQ(found[i].size.bits, want.size.bits) << lists[i].columns.size();
      EXPECT_FALSE(want.size.fault);
      EXPECT_EQ(found[i].words, want.words) << lists[i].columns.size();
      // Nothing lies behind the last bit.
      const auto entries = lists[i].part().count;
      const auto end = lists[i].at + want.size.bits + (lists[i].vertex % 2 == 0 ? 0 : 13 * entries);
      for (auto w = (end + 31) / 32; w < std::ssize(want.words); ++w)
        ASSERT_EQ(want.words[std::size_t(w)], 0u);
    }
  }
}

TEST(PackedLanes, AllSeeAFault) {
  auto lists = some_lists();
  std::erase_if(lists, [](const Case& one) { return one.columns.size() < 40; });
  ASSERT_GT(lists.size(), 12u);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto& columns = lists[i].columns;
    const auto at = i * 7 % (columns.size() - 2) + 1;
    if (i % 4 == 0) columns[at + 1] = columns[at] - 1;
    else if (i % 4 == 1) columns[0] = -1;
    else if (i % 4 == 2) columns.back() = Index(kCols);
    else columns[at + 1] = columns[at];
  }
  const auto found = by_threads(lists, some_code(1));
  for (std::size_t i = 0; i < lists.size(); ++i)
    EXPECT_EQ(found[i].size.fault, !(lists[i].more && i % 4 == 2)) << i;  // the next piece says so
}

}  // namespace
}  // namespace penstock
