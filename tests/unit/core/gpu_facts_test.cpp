// Launches and tables as functions of what a GPU has: the same on the GPU where they were measured, and possible on others.
#include "penstock/core/gpu_facts.hpp"

#include <gtest/gtest.h>

#include <string>

#include "gpus.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu_kernels.hpp"
#include "penstock/kernel/spgemm/spgemm_group.hpp"
#include "penstock/kernel/spgemm/spgemm_hash.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/kernel/vectors/level_rows.hpp"

namespace penstock {
namespace {

namespace group = spgemm_group;

TEST(GpuFacts, GridsOfTheGpuWhereTheyWereMeasured) {
  EXPECT_EQ(blocks_at_once(test::kH200, 256), 132 * 8);
  EXPECT_EQ(blocks_at_once(test::kH200, 256, 44 << 10, 4), 132 * 4);
  EXPECT_EQ(blocks_that_meet(test::kH200), 132);
  EXPECT_EQ(kMostWideEach * test::kH200.multiprocessors, 4 * 132);
}

TEST(GpuFacts, GridsFitTheThreadsAndTheSharedMemory) {
  for (const auto& gpu : test::kGpus)
    for (const int threads : {32, 128, 256, 512, 1024}) {
      const auto blocks = blocks_at_once(gpu, threads);
      EXPECT_GE(blocks, gpu.multiprocessors);
      EXPECT_LE(blocks * threads, std::int64_t(gpu.multiprocessors) * gpu.threads);
      const auto fewer = blocks_at_once(gpu, threads, 44 << 10, 4);
      EXPECT_GE(fewer, gpu.multiprocessors);
      EXPECT_LE(fewer / gpu.multiprocessors * (44 << 10), gpu.shared);
    }
}

// launch_meeting() takes the lesser of blocks_that_meet() and of what resides: a GPU on which a block of 256 threads has 255
// registers a thread, the most there are, still holds one on each multiprocessor.
TEST(GpuFacts, BlocksThatMeetFillEveryMultiprocessor) {
  for (const auto& gpu : test::kGpus) EXPECT_GE(blocks_that_meet(gpu), gpu.multiprocessors);
  EXPECT_EQ(blocks_that_meet(test::kT4), 128);  // as many threads as a small frontier has vertices
}

template <class P>
void every_class_fits(const GpuFacts& gpu, SpgemmGpuMethod method, bool writing, std::int64_t cols) {
  const auto slot = writing ? group::slot_bytes<P>(false) : std::int64_t(sizeof(Index));
  const auto most = gpu::most_log_slots(gpu.shared_block, slot);
  const auto window = gpu::bitmap_window(cols, gpu::most_columns(gpu.shared_block, writing), 0);
  EXPECT_GE(window, 64);
  gpu::RowBins all;
  all.rows.fill(1);
  std::int64_t rows = 0;
  for (const auto& c : gpu::row_classes(all, method, writing, cols, window, most)) {
    const auto per_block = c.threads == 32 ? 8 : 1;  // warps share a block
    std::int64_t bytes = 0;
    if (c.method == gpu::RowMethod::hash) bytes = slot << c.log_slots;
    if (c.method == gpu::RowMethod::bitmap)
      bytes = c.window / group::kWordBits * group::bytes_per_word(writing);
    const auto beside = c.method == gpu::RowMethod::tiny ? std::int64_t(sizeof(group::TinySpace<P>))
                                                         : std::int64_t(sizeof(group::LongRows));
    EXPECT_LE(per_block * (bytes + beside) + 256, gpu.shared_block)
        << "threads " << c.threads << ", slots 2^" << c.log_slots << ", writing " << writing;
    EXPECT_LE(c.threads, gpu.threads);
    // Bins of hash tables: rows [begin, begin + count) of one row a bin, the largest first.
    if (c.method == gpu::RowMethod::hash) {
      const auto half = gpu::kSizeBins - c.begin;
      if (!writing && gpu::may_retry(c)) {
        EXPECT_LE(half, gpu::kRetrySlots) << "the second table must hold the row";
      } else {
        EXPECT_GE(c.log_slots, half) << "at most half of the slots are taken";
      }
    }
    EXPECT_EQ(c.begin, rows);
    rows += c.count;
  }
  EXPECT_EQ(rows, gpu::kBins);
}

TEST(GpuFacts, EveryClassOfRowsFitsTheSharedMemory) {
  using enum SpgemmGpuMethod;
  for (const auto& gpu : test::kGpus)
    for (const auto method : {automatic, hash, bitmap})
      for (const bool writing : {false, true})
        for (const std::int64_t cols : {1, 5000, 3'000'000, 2'000'000'000}) {
          every_class_fits<double>(gpu, method, writing, cols);
          every_class_fits<float>(gpu, method, writing, cols);
          every_class_fits<One>(gpu, method, writing, cols);
        }
}

TEST(GpuFacts, ClassesOfRowsOfTheGpuWhereTheyWereMeasured) {
  const auto slots = [](const GpuFacts& gpu, std::int64_t bytes) {
    return gpu::most_log_slots(gpu.shared_block, bytes);
  };
  EXPECT_GE(slots(test::kH200, 16), 13);  // tables for 4096 entries in float64
  EXPECT_GE(slots(test::kH200, 4), 14);   // and for counting 8192
  EXPECT_EQ(slots(test::kA100, 16), 13);
  EXPECT_EQ(slots(test::k4090, 16), 12);
  EXPECT_EQ(slots(test::kT4, 16), 11);
  EXPECT_EQ(slots(test::kT4, 4), 13);
  EXPECT_EQ(gpu::most_columns(test::kH200.shared_block, true), (227 * 1024 - 4096) / 12 * 64);
}

TEST(GpuFacts, FewRowsOfManyProductsAreNotMerged) {
  EXPECT_EQ(gpu::merged_products(10'000, test::kH200), spgemm_merge::kFewProducts);
  EXPECT_EQ(gpu::merged_products(100'000, test::kH200), spgemm_merge::kProducts);
  EXPECT_EQ(gpu::merged_products(20'000, test::kT4), spgemm_merge::kProducts);
  const Offset products[] = {100, 16}, lists[] = {0, 5, 10};
  const std::uint64_t falls = 0;
  gpu::RowSizes sizes{.products = products, .lists = lists, .falls = &falls};
  EXPECT_LT(gpu::bin_of(sizes, 0, true), gpu::kMergeBins);
  sizes.merged = spgemm_merge::kFewProducts;
  EXPECT_EQ(gpu::bin_of(sizes, 0, true), gpu::size_bin(100));
  EXPECT_LT(gpu::bin_of(sizes, 1, true), gpu::kMergeBins);
}

TEST(GpuFacts, ScratchOfSpmmIsEnough) {
  for (const auto& gpu : test::kGpus)
    for (std::int64_t total = 1; total < std::int64_t(1) << 34; total = total * 5 / 4 + 1) {
      const auto unit = gpu::unit_items(total, gpu);
      std::int64_t cells = 0;
      for (const int lanes : {4, 8, 16, 32}) {
        const auto items = std::int64_t(gpu::group_items(total, lanes, unit, gpu)) * (256 / lanes);
        EXPECT_LE(items * lanes, 128 * 256);
        cells = std::max(cells, (total + items - 1) / items * 128);
      }
      const auto rows = 8 * ((total + unit - 1) / unit + 1);
      EXPECT_LE(2 * cells * 8 + rows, spmm_gpu_scratch_bytes(1, total - 1, 128, 8, gpu)) << total;
    }
  EXPECT_EQ(gpu::unit_items(64 * 132 * 1024 - 1, test::kH200), 32);
  EXPECT_EQ(gpu::unit_items(64 * 132 * 1024, test::kH200), 64);
  EXPECT_EQ(gpu::group_items(1 << 30, 32, 32, test::kH200), 128);
}

TEST(GpuFacts, EmulationLowersLimits) {
  EXPECT_EQ(emulated(test::kH200, ""), test::kH200);
  const auto t4 =
      emulated(test::kH200, "sms=40,threads=1024,shared=64KiB,cache=4MiB,capability=7.5,pools=0,managed=0");
  EXPECT_EQ(t4.multiprocessors, 40);
  EXPECT_EQ(t4.threads, 1024);
  EXPECT_EQ(t4.shared_block, 64 << 10);
  EXPECT_EQ(t4.shared, 64 << 10);
  EXPECT_EQ(t4.cache, 4 << 20);
  EXPECT_EQ(t4.major * 10 + t4.minor, 75);
  EXPECT_FALSE(t4.pools);
  EXPECT_FALSE(t4.shares_managed);
  EXPECT_EQ(t4.memory_rate, test::kH200.memory_rate);
  EXPECT_EQ(emulated(test::kH200, "shared=65536").shared_block, 64 << 10);
  EXPECT_EQ(emulated(test::kH200, "pools=1,sms=132"), test::kH200);
}

TEST(GpuFacts, EmulationRefusesWhatItCannotObey) {
  const auto says = [](const char* wanted) -> std::string {
    try {
      emulated(test::kH200, wanted);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::invalid_argument);
      return e.what();
    }
    return "nothing";
  };
  for (const auto& [wanted, told] : {
           std::pair{"sms", "'sms' does not read like name=value"},
           {"sms=40,", "'' does not read like name=value"},
           {",", "'' does not read like name=value"},
           {"sm=40", "'sm' is none of sms, threads, shared"},
           {"sms=", "sms= is not a whole number"},
           {"sms=40x", "sms=40x is not a whole number"},
           {"sms=-1", "sms=-1 is not a whole number"},
           {"sms= 40", "sms= 40 is not a whole number"},
           {"sms=0", "sms=0 is not between 1 and the 132 of the GPU here"},
           {"sms=133", "sms=133 is not between 1 and the 132"},
           {"threads=512", "threads=512 is not between 1024 and the 2048"},
           {"shared=32KiB", "shared=32KiB is not between 49152 and the 232448"},
           {"shared=1MiB", "shared=1MiB is not between"},
           {"cache=4GiB", "cache=4GiB is not a whole number"},
           {"cache=99999999999999999999", "is not a whole number"},
           {"cache=1048577MiB", "is not between"},
           {"capability=75", "capability=75 does not read like 7.5"},
           {"capability=7.x", "does not read like 7.5"},
           {"capability=7.", "does not read like 7.5"},
           {"capability=7.0", "is not between 7.5 and the 9.0 of the GPU here"},
           {"capability=12.0", "is not between 7.5 and the 9.0"},
           {"pools=yes", "pools=yes is neither 0 nor 1"},
       }) {
    const auto text = says(wanted);
    EXPECT_NE(text.find(told), std::string::npos) << wanted << ": " << text;
    EXPECT_NE(text.find("PENSTOCK_EMULATE_GPU: "), std::string::npos);
    EXPECT_NE(text.find("sms=40,threads=1024"), std::string::npos) << "how it reads";
  }
  auto old = test::kH200;
  old.pools = false;
  EXPECT_THROW(emulated(old, "pools=1"), Error);
}

TEST(GpuFacts, TheCpuIsNoGpu) { EXPECT_THROW(gpu_facts(Where{}), Error); }

}  // namespace
}  // namespace penstock
