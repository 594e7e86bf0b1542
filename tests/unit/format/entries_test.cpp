#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/io/entries_among.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRows = 37, kCols = 37;

/// Entries with base 1, many of them twice, few rows with most.
template <class V>
struct Entries {
  std::vector<std::int32_t> row, col;
  std::vector<V> values;

  explicit Entries(int n, bool diagonal = true) {
    std::mt19937 random(7);
    for (int k = 0; k < n; ++k) {
      row.push_back(static_cast<std::int32_t>(1 + random() % (random() % kRows + 1)));
      col.push_back(static_cast<std::int32_t>(1 + random() % kCols));
      if (!diagonal && row.back() == col.back())
        col.back() = static_cast<std::int32_t>(col.back() % kCols + 1);
      if constexpr (is_pattern<V>) values.push_back({});
      else values.push_back(static_cast<V>(random() % 1000) / V{7});
    }
  }
  /// Those of a rank, some at a time; `lost` of them are not said.
  NextChunk<V> of(const Comm& comm, std::int64_t at_a_time, std::int64_t lost = 0) const {
    const auto n = std::ssize(row) - lost;
    auto at = partition::share(n, comm.size(), comm.rank());
    const auto end = partition::share(n, comm.size(), comm.rank() + 1);
    return [=, this](EntryChunk<V>& c) mutable {
      c.size = std::min(at_a_time, end - at), c.base = 1;
      c.row = {row.data() + at, false}, c.col = {col.data() + at, false}, c.values = values.data() + at;
      at += c.size;
      return at < end ? Turn::more : Turn::last;
    };
  }
  Csr<V> whole(Mirror mirror) const {
    auto i = row, j = col;
    for (auto* index : {&i, &j})
      for (auto& k : *index) --k;
    CooView<V> coo{kRows, kCols, std::ssize(row), {i.data(), false}, {j.data(), false}, values.data()};
    return coo_to_csr(coo, {.mirror = mirror});
  }
};

template <class T>
std::vector<T> part(const Array<const T>& a, std::int64_t first, std::int64_t last) {
  return {a.data + first, a.data + last};
}

template <class V>
void same_rows(Mirror mirror) {
  const Entries<V> entries(900, mirror != Mirror::skew);
  const auto whole = entries.whole(mirror);
  const auto p_of = [&](int ranks) {
    return partition::balanced({kRows, kCols, whole.indptr, whole.indices, {}}, ranks);
  };
  for (const int ranks : kRanks)
    for (const std::int64_t at_a_time : {5, 1000})
      succeed(ranks, [&](Comm& comm) {
        const auto p = p_of(ranks);
        const auto r = static_cast<std::size_t>(comm.rank());
        const KeptRows keep{.first = p.row_cuts[r], .count = p.row_cuts[r + 1] - p.row_cuts[r]};
        NextChunk<One> count = [next = entries.of(comm, at_a_time)](EntryChunk<One>& c) {
          EntryChunk<V> same;
          const auto turn = next(same);
          c = {same.size, same.base, same.row, same.col, nullptr};
          return turn;
        };
        const auto lengths = count_among(comm, p, keep, mirror, count);
        const auto a = assemble_among<V>(comm, p, keep, mirror, lengths, entries.of(comm, at_a_time));
        const auto first = whole.indptr.data[keep.first], last = whole.indptr.data[keep.first + keep.count];
        ASSERT_EQ(a.rows, keep.count);
        for (std::int64_t i = 0; i <= a.rows; ++i)
          EXPECT_EQ(a.indptr.data[i], whole.indptr.data[keep.first + i] - first);
        EXPECT_EQ(part(a.indices, 0, a.nnz()), part(whole.indices, first, last));
        if constexpr (!is_pattern<V>) {
          EXPECT_EQ(part(a.values, 0, a.nnz()), part(whole.values, first, last));
        }
      });
}

TEST(EntriesAmong, AreTheRowsOfTheWholeMatrix) {
  same_rows<One>(Mirror::none);
  same_rows<float>(Mirror::none);
  same_rows<double>(Mirror::none);
  same_rows<double>(Mirror::symmetric);
  same_rows<float>(Mirror::skew);
}

struct Case {
  Partition p;
  KeptRows keep;
};
Case rows_of(const Comm& comm) {
  auto p = partition::contiguous({kRows, kCols, {}, {}, {}}, comm.size());
  const auto r = static_cast<std::size_t>(comm.rank());
  const KeptRows keep{.first = p.row_cuts[r], .count = p.row_cuts[r + 1] - p.row_cuts[r]};
  return {std::move(p), keep};
}

TEST(EntriesAmong, OtherEntriesTheSecondTimeAreRefusedByAll) {
  const Entries<One> some(300), more(310);
  for (const bool fewer : {true, false}) {
    const auto errors = play(3, [&](Comm& comm) {
      const auto [p, keep] = rows_of(comm);
      const auto lengths = count_among(comm, p, keep, Mirror::none, some.of(comm, 50));
      const auto& then = fewer ? some : more;
      assemble_among<One>(comm, p, keep, Mirror::none, lengths, then.of(comm, 50, fewer));
    });
    for (const auto& e : errors) EXPECT_TRUE(has(e, "the source changed")) << e;
  }
}

TEST(EntriesAmong, ASourceThatFailsStopsAllAndTheyGoOn) {
  const Entries<One> some(300);
  succeed(4, [&](Comm& comm) {
    const auto [p, keep] = rows_of(comm);
    NextChunk<One> broken = [&, left = 2, next = some.of(comm, 20)](EntryChunk<One>& c) mutable {
      return comm.rank() == 2 && left-- == 0 ? Turn::failed : next(c);
    };
    EXPECT_THROW(count_among(comm, p, keep, Mirror::none, broken), RoundsFailed);
    const auto lengths = count_among(comm, p, keep, Mirror::none, some.of(comm, 20));
    std::int64_t entries[] = {0};
    for (const auto n : lengths.span()) entries[0] += n;
    comm.all_reduce(std::span<std::int64_t>(entries), Reduce::sum);
    EXPECT_EQ(entries[0], 300);
  });
}

}  // namespace
}  // namespace penstock
