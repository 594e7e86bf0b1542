#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/kernel/vectors/dense_blocks.hpp"
#include "penstock/solver/precondition/level_triangle.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"
#include "support.hpp"

// What GPUs solve triangles with, on the CPU as a device: the same levels, tasks and launches.
namespace penstock {
namespace {

struct Rows {
  std::vector<Offset> starts{0};
  std::vector<Index> indices;
  std::vector<double> values;
  bool backward = false;

  std::int64_t count() const { return std::ssize(starts) - 1; }
  HostTriangle<double> view() const {
    return {count(), backward, starts.data(), indices.data(), values.data()};
  }
  void add(const std::vector<std::int64_t>& positions) {
    const auto rows = last;
    for (const auto p : positions) {
      indices.push_back(static_cast<Index>(backward ? rows - 1 - p : p));
      values.push_back(0.125 * double(p % 7 + 1));
    }
    starts.push_back(std::ssize(indices));
  }
  std::int64_t last = 0;  // rows in the end
};

/// need(p): the positions that position p needs.
template <class F>
Rows rows_of(std::int64_t n, bool backward, F&& need) {
  Rows rows;
  rows.backward = backward, rows.last = n;
  for (std::int64_t p = 0; p < n; ++p) rows.add(need(p));
  return rows;
}

std::vector<double> serial(const Rows& rows, const std::vector<double>& in) {
  std::vector<double> z(in.size());
  for (std::int64_t p = 0; p < rows.count(); ++p) {
    const auto i = static_cast<std::size_t>(rows.backward ? rows.count() - 1 - p : p);
    double sum = 0.5 * in[i];
    for (auto k = rows.starts[std::size_t(p)]; k < rows.starts[std::size_t(p) + 1]; ++k)
      sum -= rows.values[std::size_t(k)] * z[std::size_t(rows.indices[std::size_t(k)])];
    z[i] = sum;
  }
  return z;
}

/// All that the kernels rely on, and the solve itself.
LevelTriangle<double> checked_levels(const Rows& rows) {
  const auto n = rows.count();
  const std::vector<double> scale(static_cast<std::size_t>(n), 0.5);
  const auto t = on_device(by_levels<double>(rows.view(), scale), Stream{});
  std::vector<Index> seen(t.order.data, t.order.data + t.order.size);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::ssize(seen), n);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(seen[std::size_t(i)], i);
  // Positions, tasks, levels and runs each cover what is below them, in order.
  std::int64_t position = 0, task = 0, level = 0;
  std::vector<std::int64_t> level_of(static_cast<std::size_t>(n));
  for (const auto& run : t.runs) {
    EXPECT_EQ(run.first_level, level);
    EXPECT_EQ(run.first_task, task);
    EXPECT_GT(run.levels, 0);
    for (; level < run.first_level + run.levels; ++level) {
      EXPECT_EQ(t.levels.data[level], task);
      EXPECT_LT(task, t.levels.data[level + 1]) << "level " << level << " is empty";
      if (!run.wide) {
        EXPECT_LE(t.levels.data[level + 1] - task, kNarrowTasks);
      }
      for (; task < t.levels.data[level + 1]; ++task) {
        const auto& one = t.tasks.data[task];
        EXPECT_EQ(one.first, position);
        EXPECT_GT(one.rows, 0);
        EXPECT_LE(one.rows << one.shift, kWarp);
        for (int r = 0; r < one.rows; ++r, ++position) {
          const auto entries = t.starts.data[position + 1] - t.starts.data[position];
          EXPECT_EQ(lanes_shift(entries), one.shift) << entries;
          level_of[std::size_t(t.order.data[position])] = level;
        }
      }
    }
    EXPECT_EQ(run.first_task + run.tasks, task);
  }
  EXPECT_EQ(position, n);
  EXPECT_EQ(t.levels.size - 1, level);
  EXPECT_EQ(t.tasks.size, task);
  for (std::int64_t p = 0; p < n; ++p)
    for (auto k = t.starts.data[p]; k < t.starts.data[p + 1]; ++k)
      EXPECT_LT(level_of[std::size_t(t.order.data[t.indices.data[k]])],
                level_of[std::size_t(t.order.data[p])]);

  // What is given in the order of rows, and in that of another triangle.
  const auto after = on_device(by_levels<double>(rows.view(), scale, &t), Stream{});
  std::vector<double> in(std::size_t(n) + 1), given(in), z(in), out(in);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = double(i % 11) - 5;
  for (std::int64_t p = 0; p < n; ++p) given[std::size_t(p)] = in[std::size_t(t.order.data[p])];
  const auto expected = serial(rows, {in.begin(), in.end() - 1});
  for (const auto* one : {&t, &after}) {
    std::memset(z.data(), kNotYet, z.size() * sizeof(double));
    unsigned ticket = 0;
    for (const auto& run : one->runs)
      solve_levels(one->view(), run,
                   {.in = one == &t ? in.data() : given.data(), .z = z.data(), .out = out.data()}, &ticket,
                   Stream{});
    EXPECT_EQ(std::vector<double>(out.begin(), out.end() - 1), expected);
    for (std::int64_t p = 0; p < n; ++p) EXPECT_EQ(z[std::size_t(p)], out[std::size_t(t.order.data[p])]);
  }
  return t;
}

std::vector<std::int64_t> some_before(std::mt19937& random, std::int64_t p, std::int64_t count) {
  std::vector<std::int64_t> all;
  if (p > 0)
    for (std::int64_t i = 0; i < count; ++i) all.push_back(static_cast<std::int64_t>(random()) % p);
  return all;
}

TEST(LevelTriangle, ShapesOfEveryKind) {
  using Need = std::vector<std::int64_t>;
  for (const bool backward : {false, true}) {
    EXPECT_TRUE(checked_levels(rows_of(0, backward, [](auto) { return Need{}; })).runs.empty());
    // No entries: one level, wide where it has more tasks than a block has warps.
    for (const std::int64_t n : {1, 31, 32, 33, 256, 257, 5000}) {
      const auto t = checked_levels(rows_of(n, backward, [](auto) { return Need{}; }));
      ASSERT_EQ(t.runs.size(), 1u);
      EXPECT_EQ(t.runs[0].levels, 1);
      EXPECT_EQ(t.runs[0].wide, n > kWarp * kNarrowTasks);
    }
    // As many levels as rows are one launch.
    const auto chain =
        checked_levels(rows_of(70'000, backward, [](auto p) { return p ? Need{p - 1} : Need{}; }));
    ASSERT_EQ(chain.runs.size(), 1u);
    EXPECT_EQ(chain.runs[0].levels, 70'000);
    EXPECT_FALSE(chain.runs[0].wide);
    std::mt19937 random(7);
    for (const std::int64_t most : {1, 3, 9, 40, 200})
      checked_levels(rows_of(3000, backward, [&](auto p) {
        return some_before(random, p, static_cast<std::int64_t>(random()) % (most + 1));
      }));
    // A row of everything.
    checked_levels(rows_of(2000, backward, [](auto p) {
      Need all;
      for (std::int64_t q = 0; q < p && p == 1999; ++q) all.push_back(q);
      return all;
    }));
  }
}

TEST(LevelTriangle, FewNarrowLevelsJoinWideOnes) {
  // `wide` levels of 1000 rows with `narrow` levels of one row after each.
  const auto launches = [](std::int64_t wide, std::int64_t narrow) {
    const auto period = 1000 + narrow;
    const auto rows = rows_of(wide * period, false, [&](auto p) {
      const auto in = p % period, before = p - in;
      if (in < 1000) return before ? std::vector<std::int64_t>{before - 1} : std::vector<std::int64_t>{};
      return std::vector<std::int64_t>{p - 1};
    });
    return checked_levels(rows).runs.size();
  };
  EXPECT_EQ(launches(5, kLeastNarrow - 1), 1u);
  EXPECT_EQ(launches(5, kLeastNarrow), 10u);
}

TEST(LevelTriangle, RowsThatNeedLaterOnesAreRefused) {
  for (const bool backward : {false, true})
    for (const std::int64_t needed : {2, 3, 4})
      EXPECT_THROW(by_levels(rows_of(5, backward,
                                     [&](auto p) {
                                       return p == 2 ? std::vector<std::int64_t>{needed}
                                                     : std::vector<std::int64_t>{};
                                     })
                                 .view()),
                   Error);
}

TEST(LevelTriangle, LanesOfRows) {
  EXPECT_EQ(lanes_shift(0), 0);
  EXPECT_EQ(lanes_shift(4), 0);
  EXPECT_EQ(lanes_shift(5), 1);
  EXPECT_EQ(lanes_shift(9), 2);
  EXPECT_EQ(lanes_shift(33), 4);
  EXPECT_EQ(lanes_shift(65), 5);
  EXPECT_EQ(lanes_shift(Offset(1) << 40), 5);
}

template <class T>
void forms_agree(const LinearOp<T>& op) {
  const auto n = static_cast<std::size_t>(op.rows);
  std::vector<T> r(n), expected(n), z(n, T(7));
  for (std::size_t i = 0; i < n; ++i) r[i] = T(double(i % 13) - 6);
  op.apply(r, expected);
  for (int time = 0; time < 2; ++time) {
    const auto apply = op.on_device.make(Stream{}, 0, {});
    apply(r.data(), z.data(), Stream{});
    EXPECT_EQ(z, expected);
  }
}

TEST(LevelTriangle, PreconditionersOnADeviceAreTheHosts) {
  for (const std::int64_t n : {0, 1, 5, 700}) {
    std::vector<Offset> indptr{0};
    std::vector<Index> indices;
    std::vector<double> values;
    for (std::int64_t i = 0; i < n; ++i) {
      for (const auto j : {i - 26, i - 1, i, i + 1, i + 26})
        if (j >= 0 && j < n) indices.push_back(Index(j)), values.push_back(i == j ? 4.5 : -1);
      indptr.push_back(std::ssize(indices));
    }
    Csr<double> a;
    a.rows = a.cols = n;
    a.indptr = test::array_of(indptr), a.indices = test::array_of(indices), a.values = test::array_of(values);
    forms_agree(ilu0<double, double>(a));
    forms_agree(ic0<double, double>(a));
    if (n > 3) forms_agree(ilu0<double, double>(a, {.blocks = 3}));
    for (const std::int64_t block : {1, 2, 3, 4, 7, 33, 1000})
      forms_agree(block_jacobi<double, double>(a, block));
    if (n == 700) {
      const auto [lower, upper] = ilu0<double, double>(a).on_device.levels();
      EXPECT_EQ(lower, 700);  // a chain
      EXPECT_EQ(upper, 700);
    }
  }
}

}  // namespace
}  // namespace penstock
