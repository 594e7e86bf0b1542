// C = A B by blocks of rows with the CPU as the device: the same C as in one piece, for any memory; masks; what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "penstock/kernel/structure/elementwise.hpp"
#include "penstock/kernel/structure/sort_rows.hpp"
#include "penstock/schedule/device/landing.hpp"
#include "penstock/schedule/device/spgemm_blocks.hpp"
#include "penstock/schedule/device/spgemm_rows.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRows = 300, kColumns = 211;
const Stream kHere{nullptr, Where{}};

template <class V>
void expect_same(const Csr<V>& c, const Csr<V>& expected) {
  ASSERT_EQ(c.rows, expected.rows);
  ASSERT_EQ(c.cols, expected.cols);
  ASSERT_EQ(c.nnz(), expected.nnz());
  EXPECT_EQ(std::memcmp(c.indptr.data, expected.indptr.data, static_cast<std::size_t>(c.indptr.bytes())), 0);
  EXPECT_EQ(std::memcmp(c.indices.data, expected.indices.data, static_cast<std::size_t>(c.indices.bytes())),
            0);
  if constexpr (!is_pattern<V>) {
    ASSERT_EQ(c.values.size, expected.values.size);
    EXPECT_EQ(std::memcmp(c.values.data, expected.values.data, static_cast<std::size_t>(c.values.bytes())),
              0);
  }
}

template <class T>
Csr<T> factor(test::Rows shape, std::int64_t rows, std::int64_t cols, unsigned seed) {
  return test::matrix_of<T>(cols, test::indptr_of(shape, rows, seed), seed);
}

class SpgemmBlocks : public ::testing::TestWithParam<test::Rows> {};

template <class S, class T = typename S::value_type>
void test_all_memories(test::Rows shape) {
  const auto a = factor<T>(shape, kRows, kRows, 1), b = factor<T>(test::Rows::uniform, kRows, kColumns, 2);
  const auto expected = spgemm<S, T>(a.view(), b.view());
  const auto m = sort_rows(factor<One>(test::Rows::powers, kRows, kColumns, 3), true);
  const auto masked = mask(expected, m, false);
  for (const bool to_host : {true, false})
    for (const std::int64_t memory : {20'000, 60'000, 1'000'000, -1}) {
      Trace trace;
      const SpgemmBlocksOptions options{.to_host = to_host, .block_memory = memory};
      expect_same(spgemm_in_blocks<S>(a.view(), b.view(), kHere, options, &trace), expected);
      if (memory == 20'000 && expected.bytes() > 40'000) {
        EXPECT_GT(trace.tiles, 3);
      }
      EXPECT_EQ(trace.kernel, "spgemm");
      auto on_mask = options;
      on_mask.mask = &m;
      if (memory == 20'000) on_mask.block_memory = 50'000;  // an entry takes more where it is filtered
      expect_same(spgemm_in_blocks<S>(a.view(), b.view(), kHere, on_mask), masked);
    }
}

TEST_P(SpgemmBlocks, AreTheProductForAnyMemory) {
  test_all_memories<PlusTimes<double>>(GetParam());
  test_all_memories<PlusTimes<float>>(GetParam());
}

TEST_P(SpgemmBlocks, OfPatterns) {
  const auto a = factor<One>(GetParam(), kRows, kRows, 4), b = factor<One>(GetParam(), kRows, kColumns, 5);
  const auto as_bytes = [](const Csr<One>& m) {
    return CsrView<std::uint8_t>{
        .rows = m.rows, .cols = m.cols, .indptr = m.indptr.data, .indices = m.indices.data, .count = m.nnz()};
  };
  const auto expected = spgemm<OrAnd, One>(as_bytes(a), b.view());
  const SpgemmBlocksOptions options{.block_memory = 60'000};
  expect_same(spgemm_in_blocks<OrAnd>(as_bytes(a), as_bytes(b), kHere, options), expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SpgemmBlocks, ::testing::ValuesIn(test::kShapes));

TEST(SpgemmBlocksRefusal, SaysHowMuchCTakes) {
  using S = PlusTimes<double>;
  const auto a = factor<double>(test::Rows::uniform, kRows, kRows, 6),
             b = factor<double>(test::Rows::uniform, kRows, kColumns, 7);
  const auto c = spgemm<S, double>(a.view(), b.view());
  // Exactly what C takes is enough, although the bound of its entries is more.
  const auto bound = spgemm_rows(pattern_of(a.view()), pattern_of(b.view()), nullptr, kHere).entries;
  ASSERT_GT(bound, c.nnz());
  expect_same(spgemm_in_blocks<S>(a.view(), b.view(), kHere, {.memory = c.bytes(), .block_memory = 30'000}),
              c);
  std::string what;
  const auto refused = [&](const SpgemmBlocksOptions& options) {
    return test::code_of([&] { spgemm_in_blocks<S>(a.view(), b.view(), kHere, options); }, &what);
  };
  EXPECT_EQ(refused({.memory = c.bytes() - 1, .block_memory = 30'000}), Errc::out_of_memory);
  EXPECT_NE(what.find(std::to_string(c.nnz()) + " entries, of"), std::string::npos) << what;
  EXPECT_NE(what.find("out="), std::string::npos) << what;
  // With a mask that is known when it happens.
  const auto m = sort_rows(factor<One>(test::Rows::uniform, kRows, kColumns, 8), true);
  const auto masked = mask(c, m, false);
  ASSERT_GT(masked.nnz(), 2);
  EXPECT_EQ(refused({.mask = &m, .memory = masked.bytes() - 1, .block_memory = 30'000}), Errc::out_of_memory);
  EXPECT_NE(what.find("on the mask has"), std::string::npos) << what;
  EXPECT_EQ(refused({.block_memory = 50}), Errc::out_of_memory);  // a row takes more
  EXPECT_NE(what.find("of C = A B, a block of"), std::string::npos) << what;
  const auto short_mask = sort_rows(factor<One>(test::Rows::uniform, 3, kColumns, 9), true);
  EXPECT_EQ(refused({.mask = &short_mask}), Errc::invalid_argument);
}

TEST(SpgemmRowsTest, BlocksCoverAllRowsOnceWithinTheBudget) {
  for (const auto shape : test::kShapes) {
    const auto indptr = test::indptr_of(shape, 500, 3);
    auto bounds = allocate<Offset>(std::ssize(indptr));
    std::memcpy(bounds.data, indptr.data(), static_cast<std::size_t>(bounds.bytes()));
    for (const std::int64_t budget : {1, 100, 5000, 1 << 30}) {
      std::int64_t row = 0;
      for (const auto& block : whole_row_blocks(bounds, 12, 24, budget)) {
        EXPECT_EQ(block.first_row, row);
        EXPECT_EQ(block.nnz, indptr[at(row + block.rows)] - indptr[at(row)]);
        EXPECT_FALSE(block.piece);
        if (block.rows > 1) {
          EXPECT_LE(block.nnz * 12 + block.rows * 24, budget);
        }
        row += block.rows;
      }
      EXPECT_EQ(row, 500);
    }
  }
}

TEST(LandingTest, PutsCopiesOneBehindTheOther) {
  Landing landing(1000 * sizeof(Offset), kHere);
  std::vector<Offset> numbers(700);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<Offset>(i * i);
  landing.append(numbers.data(), 300 * sizeof(Offset));
  landing.append(numbers.data() + 300, 0);
  landing.append(numbers.data() + 300, 400 * sizeof(Offset));
  EXPECT_EQ(test::code_of([&] { landing.append(numbers.data(), 301 * sizeof(Offset)); }),
            Errc::invalid_argument);
  const auto kept = landing.keep<Offset>();
  ASSERT_EQ(kept.size, 700);
  EXPECT_EQ(std::memcmp(kept.data, numbers.data(), 700 * sizeof(Offset)), 0);
}

}  // namespace
}  // namespace penstock
