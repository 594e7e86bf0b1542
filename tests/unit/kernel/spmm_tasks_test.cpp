// The list of rows for SpMM on GPUs, made with the CPU as the device.
#include "penstock/kernel/spmm/spmm_tasks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penstock {
namespace {

std::vector<Offset> offsets_of(const std::vector<Offset>& lengths, Offset first = 0) {
  std::vector<Offset> indptr{first};
  for (const auto n : lengths) indptr.push_back(indptr.back() + n);
  return indptr;
}

/// Every entry of every row must be in one task, or in one piece whose cell is one of the row's.
void expect_all_entries_once(const std::vector<Offset>& indptr, const SpmmTasks& tasks) {
  const auto rows = std::int64_t(indptr.size()) - 1;
  ASSERT_EQ(tasks.rows.size, rows);
  std::vector<int> seen(std::size_t(rows), 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto& t = tasks.rows.data[i];
    ++seen[std::size_t(t.row)];
    EXPECT_EQ(t.begin, indptr[std::size_t(t.row)]);
    EXPECT_EQ(t.begin + t.count, indptr[std::size_t(t.row) + 1]);
    EXPECT_EQ(i<tasks.longs, t.count> kMediumTask);
    EXPECT_EQ(i<tasks.split, t.count> kTaskPiece);
    EXPECT_EQ(i >= tasks.longs + tasks.mediums, t.count <= kShortTask);
  }
  for (const auto n : seen) EXPECT_EQ(n, 1);
  ASSERT_EQ(tasks.joins.size, tasks.split);
  Index next = 0;
  for (std::int64_t i = 0; i < tasks.split; ++i) {
    const auto& join = tasks.joins.data[i];
    EXPECT_EQ(join.row, tasks.rows.data[i].row);
    EXPECT_EQ(join.first, next);
    auto begin = indptr[std::size_t(join.row)];
    for (Index c = 0; c < join.count; ++c) {
      const auto& piece = tasks.pieces.data[join.first + c];
      EXPECT_EQ(piece.row, join.first + c);
      EXPECT_EQ(piece.begin, begin);
      EXPECT_GT(piece.count, 0);
      EXPECT_LE(piece.count, kTaskPiece);
      begin += piece.count;
    }
    EXPECT_EQ(begin, indptr[std::size_t(join.row) + 1]);
    next += join.count;
  }
  EXPECT_EQ(tasks.pieces.size, next);
}

TEST(SpmmTasks, EveryEntryHasOneTask) {
  std::mt19937 draw(5);
  std::vector<Offset> lengths;
  for (int r = 0; r < 5000; ++r) lengths.push_back(draw() % 7 == 0 ? draw() % 900 : draw() % 70);
  for (const Offset n : {kTaskPiece, kTaskPiece + 1, 3 * kTaskPiece, 10 * kTaskPiece + 7, kMediumTask,
                         kMediumTask + 1, kShortTask, kShortTask + 1, Offset(0)})
    lengths.insert(lengths.begin() + std::int64_t(draw() % lengths.size()), n);
  const auto indptr = offsets_of(lengths, 123);  // a part of a larger matrix
  const auto tasks = spmm_tasks(indptr.data(), std::int64_t(lengths.size()), Stream{});
  expect_all_entries_once(indptr, tasks);
  EXPECT_EQ(tasks.split, 3);
  EXPECT_EQ(tasks.rows.data[0].count, 10 * kTaskPiece + 7);  // the longest first
}

TEST(SpmmTasks, ShortRowsMoveWithinTheirWindow) {
  std::vector<Offset> lengths;
  for (int r = 0; r < 2000; ++r) lengths.push_back(r * 31 % 65);
  const auto indptr = offsets_of(lengths);
  const auto tasks = spmm_tasks(indptr.data(), 2000, Stream{});
  expect_all_entries_once(indptr, tasks);
  for (std::int64_t i = 1; i < tasks.rows.size; ++i) {
    const auto &before = tasks.rows.data[i - 1], &t = tasks.rows.data[i];
    const auto window = t.row >> kTaskWindowBits;
    ASSERT_LE(before.row >> kTaskWindowBits, window);
    if (before.row >> kTaskWindowBits == window) {
      const auto steps = (t.count + 3) / 4, steps_before = (before.count + 3) / 4;
      ASSERT_GE(steps_before, steps);
      if (steps_before == steps) {
        ASSERT_LT(before.row, t.row);
      }
    }
  }
}

TEST(SpmmTasks, RowsBeyondTheirCountersAreNotListed) {
  for (const Offset n : {(Offset(1) << 31) - 1, Offset(1) << 31, (Offset(1) << 32) + 5, Offset(1) << 34}) {
    const auto indptr = offsets_of({3, n, 600});
    EXPECT_TRUE(spmm_tasks(indptr.data(), 3, Stream{}).empty()) << n;
  }
  const auto indptr = offsets_of({3, (Offset(1) << 31) - 2, 600});
  expect_all_entries_once(indptr, spmm_tasks(indptr.data(), 3, Stream{}));
}

TEST(SpmmTasks, NoRowsNoTasks) {
  const Offset none = 0;
  EXPECT_TRUE(spmm_tasks(&none, 0, Stream{}).empty());
  const auto indptr = offsets_of(std::vector<Offset>(300, 0));
  expect_all_entries_once(indptr, spmm_tasks(indptr.data(), 300, Stream{}));
}

}  // namespace
}  // namespace penstock
