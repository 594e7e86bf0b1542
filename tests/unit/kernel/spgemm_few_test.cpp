#include "penstock/kernel/spgemm/spgemm_few.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <vector>

namespace penstock {
namespace {

#if defined(__x86_64__)
TEST(SpgemmFew, SortsAnyNumberOfKeys) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this CPU has no AVX2";
  std::mt19937 rng(4);
  for (int n = 0; n <= kListed; n += n < 80 ? 1 : 9)
    for (int turn = 0; turn < 50; ++turn) {
      struct alignas(32) {
        std::array<std::uint32_t, kListed> list;
      } aligned;
      auto& keys = aligned.list;
      keys.fill(7);
      for (int i = 0; i < n; ++i)
        keys[static_cast<std::size_t>(i)] = turn % 2
                                                ? static_cast<std::uint32_t>(rng())
                                                : (rng() % 5) << kFewBits | static_cast<std::uint32_t>(i);
      auto expected = keys;
      std::sort(expected.begin(), expected.begin() + n);
      avx2::sort_few(keys.data(), n);
      ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + n, keys.begin())) << n;
    }
}
#endif

/// Rows of up to 3 kFew products, most of them short, with many equal columns; the last rows of B end where its arrays do.
template <class T, bool kOnes>
void check_rows(std::uint32_t seed) {
  std::mt19937 rng(seed);
  const std::int64_t rows = 700, cols = 300;
  std::vector<Offset> indptr{0};
  std::vector<Index> columns;
  std::vector<T> values;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto n = rng() % 20 == 0 ? 17 + rng() % 20 : rng() % 5;
    for (std::uint32_t i = 0; i < n; ++i) {
      columns.push_back(static_cast<Index>(rng() % cols));
      values.push_back(static_cast<T>(static_cast<double>(rng() % 2000) / 7 - 100));
    }
    indptr.push_back(std::ssize(columns));
  }
  const auto* b_values = kOnes ? nullptr : values.data();
  std::vector<Offset> products{0};
  std::vector<Index> named = columns;  // rows of B
  for (auto& j : named) j = static_cast<Index>(rng() % rows);
  if (!named.empty()) named.back() = static_cast<Index>(rows - 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    Offset n = products.back();
    for (auto e = indptr[r]; e < indptr[r + 1]; ++e) n += indptr[named[e] + 1] - indptr[named[e]];
    products.push_back(n);
  }
  const auto size = static_cast<std::size_t>(products.back());
  std::vector<Index> out(size);
  std::vector<T> sums(size);
  std::vector<Offset> ends(static_cast<std::size_t>(rows), -1);
  const FewRows<T> p{.a_indptr = indptr.data(),
                     .a_columns = named.data(),
                     .a_values = values.data(),
                     .b_indptr = indptr.data(),
                     .b_columns = columns.data(),
                     .b_values = b_values,
                     .a_end = indptr.back(),
                     .b_end = indptr.back(),
                     .products = products.data(),
                     .scattered = seed % 2 == 0,
                     .columns = out.data(),
                     .values = sums.data(),
                     .ends = ends.data()};
  Offset count = 0, computed = 0;
  for (std::int64_t row = 0; row < rows;) {
    auto before = products[row];
    const auto first = row;
    auto begin = count;
    row = avx2::few_rows(p, row, rows, before, count);
    ASSERT_EQ(before, products[row]);
    for (auto r = first; r < row; begin = ends[r], ++r, ++computed) {
      std::map<Index, T> expected;  // added up in the order of A's row, from 0 on
      for (auto e = indptr[r]; e < indptr[r + 1]; ++e)
        for (auto k = indptr[named[e]]; k < indptr[named[e] + 1]; ++k) {
          const T product = kOnes ? values[e] : values[e] * values[k];
          auto& sum = expected[columns[k]];
          sum = sum + product;
        }
      ASSERT_EQ(ends[r] - begin, std::ssize(expected)) << r;
      auto at = begin;
      for (const auto& [column, sum] : expected) {
        ASSERT_EQ(out[at], column) << r;
        ASSERT_EQ(sums[at++], sum) << r;
      }
    }
    if (row == rows) break;
    ASSERT_GT(products[row + 1] - products[row], kFew);
    ++row;
  }
  EXPECT_GT(computed, rows / 2);
  EXPECT_LT(computed, rows);
}

#if defined(__x86_64__)
TEST(SpgemmFew, RowsAreSumsInOrder) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this CPU has no AVX2";
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    check_rows<double, false>(seed), check_rows<float, false>(seed);
    check_rows<double, true>(seed), check_rows<float, true>(seed);
  }
}
#endif

TEST(SpgemmFew, LargestKeyIsNone) {
  // What fills the rest of a register comes last, also behind the last column.
  constexpr auto most = static_cast<std::uint32_t>(kFewColumns - 1) << kFewBits | (kFew - 1);
  EXPECT_LT(most, ~std::uint32_t{0});
}

}  // namespace
}  // namespace penstock
