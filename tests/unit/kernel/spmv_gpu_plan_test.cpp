// Which matrices a GPU multiplies in tiles of whole rows.
#include <gtest/gtest.h>

#include "penstock/kernel/spmv/spmv_gpu.hpp"

namespace penstock {
namespace {

TEST(SpmvGpuPlan, WholeRowsWhereNoneIsLong) {
  constexpr std::int64_t tile = 1760;
  EXPECT_EQ(rows_of_tile(1'000'000, 6'900'000, 7, tile), 251);  // a stencil: a row a thread
  EXPECT_EQ(rows_of_tile(1'000'000, 6'900'000, 7, 2016), 255);  // 288 would need a second pass
  EXPECT_EQ(rows_of_tile(1'000'000, 26'000'000, 27, tile), 65);
  EXPECT_EQ(rows_of_tile(1'000'000, 64'000'000, 64, tile), 27);
}

TEST(SpmvGpuPlan, MergePathElsewhere) {
  constexpr std::int64_t tile = 1760;
  EXPECT_EQ(rows_of_tile(1000, 0, 0, tile), 0);                 // nothing but empty rows
  EXPECT_EQ(rows_of_tile(1'000'000, 65'000'000, 65, tile), 0);  // long rows
  EXPECT_EQ(rows_of_tile(1'000'000, 10'000'000, 60, tile), 0);  // uneven: tiles would be a sixth full
  EXPECT_EQ(rows_of_tile(10, 70, 7, tile), 0);                  // one tile does, however it is cut
  for (const Offset longest : {1, 2, 5, 33, 64})
    for (const std::int64_t rows : {100, 3000, 1'000'000}) {
      const auto fit = rows_of_tile(rows, rows * longest, longest, tile);
      EXPECT_LE(fit * longest, tile);
      EXPECT_LE(fit, rows);
    }
}

TEST(SpmvGpuPlan, ThreadsOfARowWhereTheMatrixIsSmall) {
  constexpr std::int64_t kCache = 60 << 20;                          // of an H200
  EXPECT_EQ(lanes_of_rows(44'609, 2'014'701, 216, 8, kCache), 16);   // bcsstk32
  EXPECT_EQ(lanes_of_rows(325'557, 3'216'152, 2716, 8, kCache), 4);  // cnr-2000
  EXPECT_EQ(lanes_of_rows(150'102, 726'674, 9, 4, kCache), 2);       // G2_circuit
  EXPECT_EQ(lanes_of_rows(1000, 0, 0, 8, kCache), 2);                // nothing but empty rows
  EXPECT_EQ(lanes_of_rows(1000, 1'000'000, 1000, 8, kCache), 16);
  EXPECT_EQ(lanes_of_rows(1000, 1'000'000, 5000, 8, kCache), 0);     // one block would take too long
  EXPECT_EQ(lanes_of_rows(2'097'152, 14'581'760, 7, 8, kCache), 0);  // a stencil that the cache does not hold
  EXPECT_EQ(lanes_of_rows(0, 0, 0, 8, kCache), 0);
  EXPECT_EQ(lanes_of_rows(44'609, 2'014'701, 216, 8, 4 << 20), 0);    // bcsstk32 on a T4: 24 MB
  EXPECT_EQ(lanes_of_rows(44'609, 2'014'701, 216, 8, 40 << 20), 16);  // and on an A100
}

}  // namespace
}  // namespace penstock
