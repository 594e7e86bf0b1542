// ELL-G: what the conversion keeps, its blocks in slots, and the product.
#include <gtest/gtest.h>

#include "penstock/schedule/ell_blocks.hpp"
#include "support.hpp"

namespace penstock {
namespace {

template <class V>
void round_trip() {
  for (const auto shape : test::kShapes) {
    const auto a = test::matrix_of<V>(77, test::indptr_of(shape, 1500, 3));
    const auto e = to_ell_g(a, {.block_bytes = 20'000, .most_bytes = 1e9});
    const auto b = to_csr(e);
    ASSERT_EQ(b.rows, a.rows);
    ASSERT_EQ(b.nnz(), a.nnz());
    ASSERT_TRUE(std::equal(a.indptr.data, a.indptr.data + a.rows + 1, b.indptr.data));
    ASSERT_TRUE(std::equal(a.indices.data, a.indices.data + a.nnz(), b.indices.data));
    if constexpr (!is_pattern<V>) {
      ASSERT_TRUE(std::equal(a.values.data, a.values.data + a.nnz(), b.values.data));
    }
  }
}

TEST(EllG, KeepsEveryEntry) {
  round_trip<One>();
  round_trip<float>();
  round_trip<double>();
  round_trip<Complex128>();
}

TEST(EllG, BlocksLieInOneRangeEach) {
  const auto a = test::matrix_of<double>(50, test::indptr_of(test::Rows::uniform, 5000, 3));
  const auto e = to_ell_g(a, {.block_bytes = 30'000});
  ASSERT_GT(e.blocks.size(), 5u);
  EXPECT_EQ(e.block_rows % 256, 0);
  std::int64_t row = 0, offset = 0;
  Offset nnz = 0;
  for (std::int64_t i = 0; i < std::ssize(e.blocks); ++i) {
    const auto& b = e.blocks[std::size_t(i)];
    EXPECT_EQ(b.first_row, row);
    EXPECT_EQ(b.first_nnz, nnz);
    EXPECT_EQ(b.offset, offset);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(e.bytes.data + b.offset) % 128, 0u);
    const auto at = e.layout(i);
    EXPECT_EQ(at.columns % 128 + at.values % 128 + at.bytes % 128, 0);
    row += b.rows, nnz += b.nnz, offset += at.bytes;
  }
  EXPECT_EQ(row, a.rows);
  EXPECT_EQ(nnz, a.nnz());
  EXPECT_EQ(offset, e.bytes.size);
}

template <class S, class V>
void multiplies() {
  using T = typename S::value_type;
  for (const auto shape : test::kShapes)
    for (const bool reads_y : {false, true}) {
      const auto a = test::matrix_of<V>(77, test::indptr_of(shape, 1500, 5));
      const EllBlocks<V> blocks(to_ell_g(a, {.block_bytes = 20'000, .most_bytes = 1e9}));
      const auto x = test::vector_of<T>(a.cols, 2);
      auto expected = test::vector_of<T>(a.rows, 3);
      auto y = expected;
      const Scale<S> scale{S::one(), reads_y ? S::one() : S::zero()};
      test::reference<S>(a, x, expected, scale);
      for (std::int64_t i = 0; i < blocks.count(); ++i) {  // by slots, as a ring does
        const auto slot = allocate<std::byte>(blocks.bytes(i));
        std::int64_t copied = 0;
        for (const auto& part : blocks.copies(i)) {
          if (part.bytes > 0) std::memcpy(slot.data + part.to, part.from, std::size_t(part.bytes));
          copied += part.bytes;
        }
        ASSERT_EQ(copied, blocks.bytes(i));
        blocks.template multiply<S>(i, slot.data, x.data(), y.data() + blocks.block(i).first_row, scale,
                                    Stream{});
      }
      ASSERT_EQ(y, expected);
    }
}

TEST(EllG, MultipliesFromSlots) {
  multiplies<PlusTimes<double>, double>();
  multiplies<PlusTimes<float>, One>();
  multiplies<PlusTimes<double>, float>();
  multiplies<MinPlus<float>, float>();
  multiplies<OrAnd, double>();
}

TEST(EllG, LongRowsAreRefusedWithTheRemedy) {
  std::vector<Offset> indptr{0};
  for (int r = 0; r < 20'000; ++r) indptr.push_back(indptr.back() + (r == 77 ? 5000 : 2));
  const auto a = test::matrix_of<float>(100, indptr);
  std::string what;
  EXPECT_EQ(test::code_of([&] { to_ell_g(a); }, &what), Errc::invalid_argument);
  EXPECT_NE(what.find("5000 entries where the mean is 2"), std::string::npos) << what;
  EXPECT_NE(what.find("merge_path"), std::string::npos) << what;
  EXPECT_EQ(to_ell_g(a, {.most_bytes = 1e9}).nnz, a.nnz());
}

TEST(EllG, MatricesWithoutRowsOrEntries) {
  const auto none = to_ell_g(test::matrix_of<double>(3, {0}));
  EXPECT_EQ(none.blocks.size(), 0u);
  EXPECT_EQ(none.padding(), 0);
  const auto empty = to_ell_g(test::matrix_of<double>(3, std::vector<Offset>(1001, 0)));
  EXPECT_EQ(to_csr(empty).nnz(), 0);
  EXPECT_EQ(to_csr(empty).rows, 1000);
}

}  // namespace
}  // namespace penstock
