#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <utility>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/reorder.hpp"
#include "penstock/kernel/structure/elementwise.hpp"
#include "penstock/kernel/structure/filter.hpp"
#include "penstock/kernel/structure/permute.hpp"
#include "penstock/kernel/structure/row_sorter.hpp"
#include "penstock/kernel/structure/scale.hpp"
#include "penstock/kernel/structure/sort_rows.hpp"
#include "penstock/kernel/structure/symmetric.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "support.hpp"

namespace penstock {
namespace {

using Entries = std::map<std::pair<std::int64_t, std::int64_t>, double>;

/// f(row, column, value) in the order of the arrays.
template <class V, class F>
void each(const Csr<V>& a, F&& f) {
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k) {
      if constexpr (is_pattern<V>) f(r, a.indices.data[k], 1.0);
      else f(r, a.indices.data[k], static_cast<double>(a.values.data[k]));
    }
}

template <class V>
Entries entries(const Csr<V>& a) {
  Entries all;
  each(a, [&](std::int64_t r, std::int64_t c, double v) { all[{r, c}] += v; });
  return all;
}

template <class V>
void expect_equal(const Csr<V>& a, const Csr<V>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_TRUE(std::ranges::equal(a.indptr.span(), b.indptr.span()));
  EXPECT_TRUE(std::ranges::equal(a.indices.span(), b.indices.span()));
  if constexpr (!is_pattern<V>) {
    EXPECT_TRUE(std::ranges::equal(a.values.span(), b.values.span()));
  }
}

Csr<One> pattern_of(const Csr<double>& a) { return {a.rows, a.cols, a.indptr, a.indices, {}}; }

/// More entries than a range or a bucket, and one long row: several tasks, and both kinds of transpose.
Csr<double> example(std::int64_t cols, unsigned seed) {
  return test::matrix_of<double>(cols, test::indptr_of(test::Rows::one_long, 16'000, seed), seed);
}

class StructureWithThreads : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { before_ = num_threads(), set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(before_); }
  int before_ = 1;
};
INSTANTIATE_TEST_SUITE_P(Threads, StructureWithThreads, ::testing::Values(1, 3));

TEST_P(StructureWithThreads, TransposeTwiceSortsStably) {
  for (const std::int64_t cols : {1, 300, 200'000}) {
    const auto a = example(cols, 1);
    const auto t = transpose(a);
    Entries turned;
    each(t, [&](std::int64_t r, std::int64_t c, double v) { turned[{c, r}] += v; });
    EXPECT_EQ(turned, entries(a));
    expect_equal(transpose(t), sort_rows(a, false));
  }
}

TEST_P(StructureWithThreads, JoinsMasksAndTriangles) {
  const auto a = sort_rows(example(500, 1), true), b = sort_rows(example(500, 2), true);
  const auto x = entries(a), y = entries(b);
  const auto both = join(a, b, Join::plus), product = multiply(a, b);
  const auto inside = mask(a, pattern_of(b), false), outside = mask(a, pattern_of(b), true);
  Entries sum = x, times, in, out;
  for (const auto& [at, v] : y) sum[at] += v;
  for (const auto& [at, v] : x) {
    if (const auto other = y.find(at); other != y.end()) times[at] = v * other->second, in[at] = v;
    else out[at] = v;
  }
  EXPECT_EQ(entries(both), sum);
  EXPECT_EQ(entries(product), times);
  EXPECT_EQ(entries(inside), in);
  EXPECT_EQ(entries(outside), out);
  for (const auto& c : {both, product, inside, outside}) EXPECT_TRUE(row_order(pattern_of(c)).canonical);
  const auto lower = triangle(a, 3, false), upper = triangle(a, 4, true);
  expect_equal(join(lower, upper, Join::plus), a);
  each(lower, [&](std::int64_t r, std::int64_t c, double) { EXPECT_LE(c - r, 3); });
  EXPECT_EQ(without_zeros(join(a, a, Join::minus)).nnz(), 0);
  EXPECT_EQ(test::code_of([&] { join(a, transpose(a), Join::plus); }), Errc::invalid_argument);
}

TEST_P(StructureWithThreads, PermutesAndScales) {
  const auto a = example(16'000, 3);
  std::vector<std::int64_t> p(16'000);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<std::int64_t>(i * 7919 % p.size());
  const auto inverse = inverse_permutation(p, a.cols, "p");
  const auto b = take_rows(a, p, inverse.span());
  Entries back;
  each(b, [&](std::int64_t r, std::int64_t c, double v) {
    back[{p[static_cast<std::size_t>(r)], p[static_cast<std::size_t>(c)]}] += v;
  });
  EXPECT_EQ(back, entries(a));
  EXPECT_TRUE(row_order(pattern_of(b)).sorted);
  const auto factors = test::vector_of<double>(a.rows, 5);
  const auto scaled = scaled_values<double>(a, factors.data(), factors.data());
  std::int64_t k = 0;
  each(a, [&](std::int64_t r, std::int64_t c, double v) {
    ASSERT_EQ(scaled.data[k++],
              v * factors[static_cast<std::size_t>(r)] * factors[static_cast<std::size_t>(c)]);
  });
  p[5] = p[4];
  EXPECT_EQ(test::code_of([&] { inverse_permutation(p, a.cols, "p"); }), Errc::invalid_argument);
  EXPECT_EQ(test::code_of([&] { take_rows(a, std::vector<std::int64_t>{16'000}, {}); }),
            Errc::invalid_argument);
}

TEST_P(StructureWithThreads, SymmetryAndOrders) {
  const auto a = sort_rows(pattern_of(example(16'000, 4)), true);
  EXPECT_FALSE(has_symmetric_pattern(a));
  const auto both = join(a, transpose(a), Join::plus);
  EXPECT_TRUE(has_symmetric_pattern(both));
  for (const auto& order : {reverse_cuthill_mckee(both), reverse_cuthill_mckee(a), degree_order(a, true)}) {
    std::vector<Index> sorted(order.data, order.data + order.size), all(16'000);
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all);
  }
  EXPECT_GT(bandwidth(both), 10'000);
}

TEST(RowSorter, EveryLengthAndKeepsTheOrderOfEqualOnes) {
  RowSorter<double> sorter;
  std::mt19937 random(1);
  for (const std::int64_t n : {0, 1, 24, 25, 64, 65, 3000, 20'000})
    for (const std::int64_t cols : {1, 1000, 1 << 20}) {
      std::vector<std::pair<Index, double>> wanted;
      std::vector<Index> columns;
      std::vector<double> values;
      for (std::int64_t k = 0; k < n; ++k) {
        columns.push_back(static_cast<Index>(random() % static_cast<std::uint64_t>(cols)));
        values.push_back(static_cast<double>(k));
        wanted.emplace_back(columns.back(), values.back());
      }
      std::stable_sort(wanted.begin(), wanted.end(), [](auto& x, auto& y) { return x.first < y.first; });
      sorter.sort(columns.data(), values.data(), n, cols);
      for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_EQ(wanted[k], std::pair(columns[k], values[k]));
    }
}

}  // namespace
}  // namespace penstock
