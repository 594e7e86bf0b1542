// The driver of SpMM on GPUs, run on host devices, and the planning around its kernels.
#include <gtest/gtest.h>

#include "gpus.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/schedule/multiply_columns_gpu.hpp"
#include "support.hpp"

namespace penstock {
namespace {

TEST(SpmmGpu, DriverStreamsStridedColumns) {
  for (const auto shape : test::kShapes)
    for (const bool reads_y : {false, true}) {
      const auto a = test::matrix_of<double>(61, test::indptr_of(shape, 300, 4));
      constexpr std::int64_t k = 5, step = 7;
      const auto x = test::vector_of<double>(a.cols * step, 2);
      auto y = test::vector_of<double>(a.rows * step, 3);
      const auto before = y;
      const Scale<PlusTimes<double>> scale{2.0, reads_y ? -1.0 : 0.0};
      Trace trace;
      multiply_columns_gpu<PlusTimes<double>, double>(
          a, {x.data() + 1, a.cols, k, step, 1}, {y.data() + 1, a.rows, k, step, 1},
          Streamed{.devices = {Where{}, Where{}}, .block_bytes = 700, .slots = 2}, scale, trace);
      for (std::int64_t j = 0; j < k; ++j) {
        std::vector<double> xj, yj;
        for (std::int64_t i = 0; i < a.cols; ++i) xj.push_back(x[std::size_t(i * step + 1 + j)]);
        for (std::int64_t i = 0; i < a.rows; ++i) yj.push_back(before[std::size_t(i * step + 1 + j)]);
        test::reference<PlusTimes<double>>(a, xj, yj, scale);
        for (std::int64_t i = 0; i < a.rows; ++i)
          ASSERT_EQ(y[std::size_t(i * step + 1 + j)], yj[std::size_t(i)]) << "row " << i << " column " << j;
      }
      for (std::int64_t i = 0; i < a.rows; ++i)  // what lies between the rows is the user's
        ASSERT_EQ(y[std::size_t(i * step + 6)], before[std::size_t(i * step + 6)]);
    }
}

TEST(SpmmGpu, ChunksFitWhatIsFree) {
  EXPECT_EQ(chunk_columns(128, 100, 1 << 20, 0), 128);
  EXPECT_EQ(chunk_columns(128, 10'000, 1'000'000, 0), 64);        // 90 fit: two whole panels
  EXPECT_EQ(chunk_columns(128, 10'000, 1'000'000, 700'000), 20);  // less than a panel: what fits
  EXPECT_EQ(chunk_columns(128, 10'000, 1'000, 0), 1);             // the allocation will say what is missing
  EXPECT_EQ(chunk_columns(3, 0, 1'000, 0), 3);
}

TEST(SpmmGpu, ChunksStayWithinABudget) {
  EXPECT_EQ(chunk_columns_within(1 << 20, 128, 100, 0), 128);
  EXPECT_EQ(chunk_columns_within(1'000'000, 128, 10'000, 10'000), 96);  // 99 fit: three whole panels
  EXPECT_EQ(chunk_columns_within(1'000'000, 128, 10'000, 800'000), 20);
  EXPECT_EQ(chunk_columns_within(10'000, 128, 10'000, 0), 1);
  EXPECT_THROW(chunk_columns_within(9'999, 128, 10'000, 0), Error);
  EXPECT_THROW(chunk_columns_within(9'999, 128, 1, 10'000), Error);
}

TEST(SpmmGpu, ScratchGrowsWithTheMatrix) {
  const auto small = spmm_gpu_scratch_bytes(10, 10, 1, 4, test::kH200),
             large = spmm_gpu_scratch_bytes(1 << 24, 1 << 29, 128, 8, test::kH200);
  EXPECT_GT(small, 0);
  EXPECT_LT(large, std::int64_t(3) << 30);
  EXPECT_GT(large, small);
}

}  // namespace
}  // namespace penstock
