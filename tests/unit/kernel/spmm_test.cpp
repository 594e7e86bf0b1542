#include "penstock/kernel/spmm/spmm.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"

namespace penstock {
namespace {

/// A matrix with a long row and empty ones; values are small integers, so that sums are exact.
struct Problem {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<float> values;
  std::int64_t rows, cols;

  Problem(std::int64_t rows, std::int64_t cols) : rows(rows), cols(cols) {
    std::mt19937 rng(1);
    for (std::int64_t r = 0; r < rows; ++r) {
      const int length = r == rows / 2 ? 5000 : r % 5 == 0 ? 0 : static_cast<int>(rng() % 40);
      for (int i = 0; i < length; ++i) {
        indices.push_back(static_cast<Index>(rng() % static_cast<unsigned>(cols)));
        values.push_back(static_cast<float>(rng() % 7) - 3);
      }
      indptr.push_back(static_cast<Offset>(indices.size()));
    }
  }
  CsrView<float> view() const {
    return {.rows = rows,
            .cols = cols,
            .indptr = indptr.data(),
            .indices = indices.data(),
            .values = values.data()};
  }
};

/// k columns at an address that is `offset` entries past a line, by rows or by columns.
struct Dense {
  std::vector<float> memory;
  DenseView<float> view;
  Dense(std::int64_t rows, std::int64_t k, std::int64_t offset, bool by_rows, float value = 0)
      : memory(static_cast<std::size_t>(rows * k + 32), value) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(float) % 16;
    float* data = memory.data() + (16 - at) % 16 + offset;
    view = {data, rows, k, by_rows ? k : 1, by_rows ? 1 : rows};
  }
  DenseView<const float> read() const {
    return {view.data, view.rows, view.cols, view.row_step, view.col_step};
  }
  float at(std::int64_t i, std::int64_t j) const { return view.data[i * view.row_step + j * view.col_step]; }
};

void check_columns(const Problem& p, std::int64_t k, std::int64_t x_offset, std::int64_t y_offset,
                   bool x_rows, bool y_rows) {
  using S = PlusTimes<float>;
  Dense x(p.cols, k, x_offset, x_rows), y(p.rows, k, y_offset, y_rows, 99);
  for (std::int64_t i = 0; i < p.cols; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      x.view.data[i * x.view.row_step + j * x.view.col_step] = static_cast<float>((i * 7 + j * 3) % 11 - 5);
  spmm<S, float>(p.view(), x.read(), y.view, {});
  for (std::int64_t r = 0; r < p.rows; ++r)
    for (std::int64_t j = 0; j < k; ++j) {
      float sum = 0;
      const auto end = p.indptr[static_cast<std::size_t>(r + 1)];
      for (auto e = p.indptr[static_cast<std::size_t>(r)]; e < end; ++e)
        sum += p.values[static_cast<std::size_t>(e)] * x.at(p.indices[static_cast<std::size_t>(e)], j);
      ASSERT_EQ(y.at(r, j), sum) << "row " << r << ", column " << j << " of " << k;
    }
  std::size_t outside = 0;  // what lies before and behind Y is untouched
  for (const float& f : y.memory) outside += (&f < y.view.data || &f >= y.view.data + p.rows * k) && f == 99;
  EXPECT_EQ(outside, 32u);
}

TEST(Spmm, EveryWidthAndAlignment) {
  const Problem p(120, 90);
  for (const std::int64_t k : {1, 2, 7, 16, 17, 32, 48, 64, 100, 272, 300})
    for (const std::int64_t offset : {0, 4, 13}) check_columns(p, k, offset, offset, true, true);
  check_columns(p, 33, 0, 4, false, true);
  check_columns(p, 33, 4, 0, true, false);
  check_columns(p, 33, 0, 0, false, false);
}

TEST(Spmm, LargeOperandsTakeThePathsAroundTheCaches) {
  const Problem p(40'000, 20'000);  // Y has more than 8 MB, X more than 1 MB, rows of X are read often
  for (const std::int64_t offset : {0, 4}) check_columns(p, 64, offset, offset, true, true);
  check_columns(p, 160, 4, 0, true, true);
  check_columns(p, 64, 0, 4, true, true);
}

TEST(Reuse, AFreedBlockComesBackAndASmallerOneIsNotWasted) {
  constexpr std::int64_t kBytes = 32 << 20;
  auto first = reuse_bytes(kBytes);
  void* const at = first.get();
  auto second = reuse_bytes(kBytes);
  EXPECT_NE(second.get(), at);
  first.reset();
  auto again = reuse_bytes(kBytes - 1000);
  EXPECT_EQ(again.get(), at);
  again.reset();
  EXPECT_NE(reuse_bytes(kBytes / 4).get(), at);
  EXPECT_GE(kept_bytes({}), kBytes);
  EXPECT_TRUE(free_kept({}));
  EXPECT_EQ(kept_bytes({}), 0);
  EXPECT_FALSE(free_kept({}));
}

}  // namespace
}  // namespace penstock
