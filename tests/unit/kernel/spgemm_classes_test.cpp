// Which rows of a product of sparse matrices a GPU treats alike.
#include <gtest/gtest.h>

#include "penstock/kernel/spgemm/spgemm_gpu_kernels.hpp"
#include "penstock/kernel/spgemm/spgemm_hash.hpp"

namespace penstock {
namespace {

namespace group = spgemm_group;
constexpr int kMostLogSlots = 15;

TEST(SpgemmClasses, RowsOfFewListsAreMergedWhereBAscends) {
  const Offset products[] = {0, 16, 17, 128, 129, 30}, lists[] = {0, 3, 7, 15, 31, 32, 49};
  std::uint64_t falls = 0;
  const gpu::RowSizes sizes{.products = products, .lists = lists, .falls = &falls};
  ASSERT_TRUE(gpu::merges(sizes));
  EXPECT_EQ(gpu::bin_of(sizes, 0, true), -1);
  EXPECT_EQ(gpu::bin_of(sizes, 1, true), gpu::merge_bin(4, 16));
  EXPECT_EQ(gpu::bin_of(sizes, 2, true), gpu::merge_bin(8, 17));
  EXPECT_EQ(gpu::bin_of(sizes, 3, true), gpu::merge_bin(16, 128));
  EXPECT_EQ(gpu::bin_of(sizes, 4, true), gpu::size_bin(129));
  EXPECT_EQ(gpu::bin_of(sizes, 5, true), gpu::size_bin(30)) << "17 lists";
  falls = 1;
  EXPECT_FALSE(gpu::merges(sizes));
  EXPECT_EQ(gpu::bin_of(sizes, 1, false), gpu::size_bin(16));
}

TEST(SpgemmClasses, EveryBinHasAClassThatHoldsIt) {
  EXPECT_EQ(gpu::size_bin(1), gpu::kMergeBins);
  EXPECT_EQ(gpu::size_bin(64), gpu::kMergeBins + 6);
  EXPECT_EQ(gpu::size_bin(65), gpu::kMergeBins + 7);
  EXPECT_EQ(gpu::size_bin(Offset(1) << 40), gpu::kBins - 1);
  using enum SpgemmGpuMethod;
  for (const auto method : {automatic, hash, bitmap})
    for (const bool writing : {false, true})
      for (const std::int64_t cols : {1, 5000, 70'000, 5'000'000}) {
        const auto window = gpu::bitmap_window(cols, 1 << 20, 0);
        for (int b = 0; b < gpu::kBins; ++b) {
          gpu::RowBins bins;
          bins.rows[static_cast<std::size_t>(b)] = 3;
          const auto classes = gpu::row_classes(bins, method, writing, cols, window, kMostLogSlots);
          ASSERT_EQ(classes.size(), 1u);
          EXPECT_EQ(classes[0].count, 3);
          const int size = b - gpu::kMergeBins;
          EXPECT_EQ(classes[0].method == gpu::RowMethod::merge, size < 0);
          if (size < 0) {
            EXPECT_EQ(classes[0].lists, b < 4 ? 8 : 16);
          }
          if (classes[0].method == gpu::RowMethod::tiny) {
            EXPECT_LE(size, 6);
          }
          if (classes[0].method == gpu::RowMethod::hash) {
            if (!writing && gpu::may_retry(classes[0])) {
              EXPECT_LE(size + 1, gpu::kRetrySlots) << "the second table must hold the row";
            } else {
              EXPECT_GE(classes[0].log_slots, size + 1) << "at most half of the slots are taken";
            }
            EXPECT_LE((group::slot_bytes<double>(false) << classes[0].log_slots),
                      200'000 * (writing ? 1 : 2));
          }
        }
        gpu::RowBins all;
        all.rows.fill(2);
        std::int64_t next = 0;
        for (const auto& c : gpu::row_classes(all, method, writing, cols, window, kMostLogSlots)) {
          EXPECT_EQ(c.begin, next);
          next += c.count;
        }
        EXPECT_EQ(next, 2 * gpu::kBins);
      }
}

TEST(SpgemmClasses, WindowsAreEquallyWide) {
  EXPECT_EQ(gpu::bitmap_window(0, 1000, 0), 64);
  EXPECT_EQ(gpu::bitmap_window(100, 1000, 0), 128);
  EXPECT_EQ(gpu::bitmap_window(961, 1000, 0), 512);  // 960 at most
  EXPECT_EQ(gpu::bitmap_window(5000, 1000, 65), 128);
  EXPECT_EQ(gpu::bitmap_window(5000, 1000, 5000), 960);
}

TEST(SpgemmClasses, FewEntriesOfManyProductsAreNotTiny) {
  const Offset products[] = {10, 64, 65, 500}, indptr[] = {0, 3, 7, 8, 300};
  const gpu::RowSizes counting{products}, writing{products, indptr};
  EXPECT_EQ(gpu::size_of(counting, 2), 65);
  EXPECT_EQ(gpu::size_of(writing, 0), 10);
  EXPECT_EQ(gpu::size_of(writing, 1), 64);
  EXPECT_EQ(gpu::size_of(writing, 2), 65);
  EXPECT_EQ(gpu::size_of(writing, 3), 292);
}

// Rows with two sizes of tables are one launch, the larger ones first; a third size is another one.
TEST(SpgemmClasses, WarpsWithTwoSizesOfTablesAreOneLaunch) {
  gpu::RowBins bins;
  const auto of = [&](int b) -> std::int64_t& {
    return bins.rows[static_cast<std::size_t>(gpu::kMergeBins + b)];
  };
  of(9) = 5, of(8) = 7, of(7) = 11;
  const auto classes = gpu::row_classes(bins, SpgemmGpuMethod::hash, true, 1 << 30, 64, kMostLogSlots);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].threads, 128);
  EXPECT_EQ(classes[0].count, 5);
  EXPECT_EQ(classes[0].wide, 5);
  EXPECT_EQ(classes[1].threads, 32);
  EXPECT_EQ(classes[1].log_slots, 9);
  EXPECT_EQ(classes[1].count, 18);
  EXPECT_EQ(classes[1].wide, 7);
  const auto counting = gpu::row_classes(bins, SpgemmGpuMethod::hash, false, 1 << 30, 64, kMostLogSlots);
  ASSERT_EQ(counting.size(), 1u);
  EXPECT_EQ(counting[0].wide, 12) << "two bins with tables of 512 slots";
  EXPECT_EQ(counting[0].count, 23);
  of(9) = of(8) = 0;
  EXPECT_EQ(gpu::row_classes(bins, SpgemmGpuMethod::hash, true, 1 << 30, 64, kMostLogSlots)[0].wide, 11);
}

TEST(SpgemmClasses, RowsThatRepeatTheOneAboveAreInNoBin) {
  const Offset products[] = {90, 90, 0};
  const std::uint8_t repeats[] = {0, 1, 0};
  const gpu::RowSizes sizes{.products = products, .repeats = repeats};
  EXPECT_EQ(gpu::bin_of(sizes, 0, false), gpu::size_bin(90));
  EXPECT_EQ(gpu::bin_of(sizes, 1, false), -1);
  EXPECT_EQ(gpu::size_of(sizes, 1), 90) << "its products count";
}

}  // namespace
}  // namespace penstock
