// Products of patterns over a boolean semiring whose sums of ones may be 0: these are no entries of C.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "penstock/kernel/spgemm/spgemm_cpu.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// The field of two elements.
struct XorAnd {
  using value_type = std::uint8_t;
  static constexpr SemiringInfo kInfo{"xor_and", "logical_xor", "logical_and", "parities"};
  static constexpr value_type zero() { return 0; }
  static constexpr value_type one() { return 1; }
  static constexpr value_type add(value_type a, value_type b) { return a ^ b; }
  static constexpr value_type mul(value_type a, value_type b) { return a & b; }
};
static_assert(BooleanSemiring<XorAnd> && !PatternSemiring<XorAnd> && PatternSemiring<OrAnd>);

/// Rows of the odd counts of products, on the mask if there is one.
std::vector<std::vector<Index>> odd_products(const Csr<One>& a, const Csr<One>& b, const Csr<One>* mask) {
  std::vector<std::vector<Index>> rows;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    std::vector<int> count(b.cols), on(b.cols, mask == nullptr);
    for (auto e = a.indptr.data[r]; e < a.indptr.data[r + 1]; ++e)
      for (auto k = b.indptr.data[a.indices.data[e]]; k < b.indptr.data[a.indices.data[e] + 1]; ++k)
        ++count[b.indices.data[k]];
    if (mask)
      for (auto e = mask->indptr.data[r]; e < mask->indptr.data[r + 1]; ++e) on[mask->indices.data[e]] = 1;
    rows.emplace_back();
    for (Index c = 0; c < b.cols; ++c)
      if (on[c] && count[c] % 2 == 1) rows.back().push_back(c);
  }
  return rows;
}

void expect_odd(const Csr<One>& a, const Csr<One>& b, const SpgemmOptions& options, const Csr<One>* mask) {
  const CsrView<std::uint8_t> bytes{
      .rows = a.rows, .cols = a.cols, .indptr = a.indptr.data, .indices = a.indices.data, .count = a.nnz()};
  const auto c = spgemm<XorAnd, One>(bytes, b.view(), options);
  const auto wanted = odd_products(a, b, mask);
  ASSERT_EQ(c.rows, a.rows);
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const std::vector<Index> row(c.indices.data + c.indptr.data[r], c.indices.data + c.indptr.data[r + 1]);
    ASSERT_EQ(row, wanted[r]) << "row " << r;
  }
}

TEST(SpgemmBoolean, EvenNumbersOfProductsAreNoEntries) {
  for (const auto shape : test::kShapes) {
    const auto a = test::matrix_of<One>(150, test::indptr_of(shape, 90, 1), 2);
    const auto b = test::matrix_of<One>(70, test::indptr_of(shape, 150, 3), 4);
    const auto m = test::matrix_of<One>(70, test::indptr_of(test::Rows::uniform, 90, 5), 6);
    for (const auto how : {Accumulator::automatic, Accumulator::merge, Accumulator::hash, Accumulator::dense})
      expect_odd(a, b, {.accumulator = how}, nullptr);
    const auto mask = m.view();
    const auto on = pattern_of(mask);
    SpgemmOptions options;
    options.mask = &on;
    expect_odd(a, b, options, &m);
  }
}

TEST(SpgemmBoolean, RowsThatRepeatTheRowAbove) {
  constexpr std::int64_t kRows = 600;
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (const std::int64_t c : {r - 20, r - 1, r, r + 1, r + 20})
      if (c >= 0 && c < kRows) indices.push_back(static_cast<Index>(c));
    indptr.push_back(std::ssize(indices));
  }
  const Csr<One> a{kRows, kRows, test::array_of(indptr), test::array_of(indices), {}};
  expect_odd(a, a, {.ascending = true}, nullptr);
}

}  // namespace
}  // namespace penstock
