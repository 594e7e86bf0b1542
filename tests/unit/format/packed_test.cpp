#include "penstock/format/packed.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "penstock/format/bits.hpp"
#include "penstock/schedule/packed_blocks.hpp"
#include "support.hpp"

namespace penstock {
namespace {

TEST(Bits, ComeBackAtEveryWidth) {
  std::mt19937 random(1);
  for (int width = 0; width <= 31; ++width) {
    std::vector<std::uint32_t> numbers(77), words(80, 0xdeadbeef);
    for (auto& n : numbers) n = static_cast<std::uint32_t>(random()) & low_bits(width);
    BitWriter writer(words.data());
    for (const auto n : numbers) writer.put(n, width);
    EXPECT_EQ(writer.finish() - words.data(), (77 * width + 31) / 32);
    for (int i = 0; i < 77; ++i)
      ASSERT_EQ(read_bits(words.data(), i * width, width), numbers[std::size_t(i)])
          << i << " of width " << width;
  }
}

template <class V>
void expect_same(const Csr<V>& a, const Csr<V>& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.cols, b.cols);
  ASSERT_EQ(a.nnz(), b.nnz());
  ASSERT_EQ(std::memcmp(a.indptr.data, b.indptr.data, std::size_t(a.indptr.bytes())), 0);
  ASSERT_TRUE(a.nnz() == 0 ||
              std::memcmp(a.indices.data, b.indices.data, std::size_t(a.indices.bytes())) == 0);
  if constexpr (!is_pattern<V>) {
    ASSERT_TRUE(a.nnz() == 0 ||
                std::memcmp(a.values.data, b.values.data, std::size_t(a.values.bytes())) == 0);
  }
}

template <class V>
class PackedOf : public ::testing::Test {};
using ValueTypes = ::testing::Types<One, float, double, Complex64, Complex128>;
TYPED_TEST_SUITE(PackedOf, ValueTypes);

TYPED_TEST(PackedOf, UnpacksToTheSameArrays) {
  for (const auto shape : test::kShapes)
    for (const std::int64_t rows : {0, 1, 17, 3000})
      for (const std::int64_t block : {1024, 5000, 1 << 20}) {
        const auto indptr = test::indptr_of(shape, rows, static_cast<unsigned>(rows));
        const auto a = test::matrix_of<TypeParam>(rows % 2 == 0 ? 70'001 : 1, indptr);
        SCOPED_TRACE(testing::Message() << "shape " << int(shape) << " rows " << rows << " block " << block);
        const auto p = pack(a, {.block_nnz = block});
        ASSERT_NO_THROW(validate(p, true));
        expect_same(a, unpack(p));
        const auto q = std::get<Packed<TypeParam>>(packed_from(directory_of(p), p.bytes));
        expect_same(a, unpack(q));
        for (const auto& b : *p.blocks) {
          ASSERT_LE(b.nnz, block);
          ASSERT_EQ(b.at % kPackedAlign, 0);
        }
      }
}

TEST(Packed, TellsWhatIsDamaged) {
  const auto a = test::matrix_of<double>(500, test::indptr_of(test::Rows::powers, 3000, 5));
  const auto p = pack(a, {.block_nnz = 1024});
  const auto damaged = [&](auto&& change) {
    auto directory = directory_of(p);
    const auto bytes = allocate<std::byte>(p.bytes.size);
    std::memcpy(bytes.data, p.bytes.data, std::size_t(p.bytes.size));
    change(directory, bytes.data);
    std::string what;
    EXPECT_EQ(test::code_of(
                  [&] {
                    const auto any = packed_from(directory, bytes);
                    validate(std::get<Packed<double>>(any), true);
                  },
                  &what),
              Errc::invalid_argument);
    EXPECT_NE(what.find("pack the matrix again"), std::string::npos) << what;
    return what;
  };
  const auto header_of = [](std::byte* bytes) { return reinterpret_cast<PackedHeader*>(bytes); };
  EXPECT_NE(damaged([](auto& d, auto*) { d[0] = 1; }).find("mark"), std::string::npos);
  EXPECT_NE(damaged([](auto& d, auto*) { d[7] = 9; }).find("version 9"), std::string::npos);
  EXPECT_NE(damaged([](auto& d, auto*) { d[8 + 3] += 1; }).find("block 1"), std::string::npos);
  EXPECT_NE(damaged([](auto&, auto* b) { b[0] ^= std::byte(1); }).find("mark"), std::string::npos);
  EXPECT_NE(damaged([&](auto&, auto* b) { header_of(b)->words_at += 4; }).find("section"), std::string::npos);
  EXPECT_NE(damaged([&](auto&, auto* b) { header_of(b)->values_at = 0xfffffff0; }).find("section"),
            std::string::npos);
  EXPECT_NE(damaged([&](auto&, auto* b) { header_of(b)->column_mask = 1; }).find("mask"), std::string::npos);
  const auto tile_of = [&](std::byte* b) {
    return reinterpret_cast<PackedTile*>(b + header_of(b)->tiles_at);
  };
  EXPECT_NE(damaged([&](auto&, auto* b) { tile_of(b)->at = 0x7fffffff; }).find("tile 0"), std::string::npos);
  EXPECT_NE(damaged([&](auto&, auto* b) { tile_of(b)->info = 5000; }).find("tile 0"), std::string::npos);
  EXPECT_NE(damaged([&](auto&, auto* b) { tile_of(b)->info ^= PackedTile::kOpen; }).find("block 0"),
            std::string::npos);
  EXPECT_NE(damaged([&](auto&, auto* b) {
              reinterpret_cast<PackedChunk*>(b + header_of(b)->chunks_at)->tile = 77;
            }).find("chunk 0"),
            std::string::npos);
}

TEST(Packed, TakesFewBits) {
  std::vector<Offset> indptr{0};  // a band: gaps of nothing
  std::vector<Index> indices;
  for (Index r = 0; r < 4000; ++r) {
    for (Index c = r; c < r + 30; ++c) indices.push_back(c);
    indptr.push_back(std::ssize(indices));
  }
  auto a = test::matrix_of<One>(4100, indptr);
  a.indices = test::array_of(indices);
  EXPECT_LT(8 * pack(a).nbytes(), 10 * a.nnz());
  EXPECT_EQ(pack(test::matrix_of<double>(9, {0, 0, 0})).kind, ValueKind::raw);
  EXPECT_EQ(pack(test::matrix_of<One>(9, {0, 5})).kind, ValueKind::none);
}

template <Semiring S, class V>
void expect_product(const Csr<V>& a, std::int64_t block, std::int64_t slot,
                    std::span<const std::int64_t> kept) {
  using T = typename S::value_type;
  const auto x = test::vector_of<T>(a.cols, 2);
  auto expected = test::vector_of<T>(a.rows, 3), y = expected, z = expected;
  const Scale<S> scale{T(2), T(3)};
  test::reference<S, V>(a, x, expected, scale);
  const auto packed = pack(a, {.block_nnz = block});
  spmv_packed<S, V>(packed, x.data(), y.data(), scale, Stream{});
  ASSERT_EQ(y, expected);

  const PackedBlocks<V> source(packed, slot, kept);  // by a slot, as a ring does
  std::int64_t row = 0;
  Offset nnz = 0;
  for (std::int64_t i = 0; i < source.count(); ++i) {
    const auto b = source.block(i);
    ASSERT_EQ(b.first_nnz, nnz);
    nnz += b.nnz;
    std::vector<std::byte> slot_bytes(std::size_t(source.bytes(i)) + kPackedAlign);
    auto* to = slot_bytes.data() +
               (kPackedAlign - reinterpret_cast<std::uintptr_t>(slot_bytes.data()) % kPackedAlign);
    for (const auto& part : source.copies(i))
      if (part.bytes > 0) std::memcpy(to + part.to, part.from, std::size_t(part.bytes));
    if (!b.piece) {
      ASSERT_EQ(b.first_row, row);
      source.template multiply<S>(i, to, x.data(), z.data() + row, scale, Stream{});
      row += b.rows;
      continue;
    }
    T cell;
    source.template multiply<S>(i, to, x.data(), &cell, {}, Stream{});
    auto& out = z[std::size_t(b.first_row)];
    out = b.first_row == row ? scale(cell, out) : S::add(out, S::mul(scale.alpha, cell));
    row = b.first_row + 1;
  }
  ASSERT_EQ(row, a.rows);
  ASSERT_EQ(nnz, a.nnz());
  ASSERT_EQ(z, expected);
}

TEST(PackedBlocks, MultiplyLikeTheMatrix) {
  for (const auto shape : test::kShapes)
    for (const std::int64_t rows : {1, 300, 4000})
      for (const std::int64_t block : {1024, 1 << 19})
        for (const std::int64_t slot : {1, 20'000, 1 << 24}) {
          SCOPED_TRACE(testing::Message()
                       << "shape " << int(shape) << " rows " << rows << " block " << block);
          const auto indptr = test::indptr_of(shape, rows, 9);
          const std::int64_t kept[] = {9000, 0, 30'000};
          expect_product<PlusTimes<double>>(test::matrix_of<double>(900, indptr), block, slot, {});
          expect_product<PlusTimes<float>>(test::matrix_of<One>(900, indptr), block, slot, kept);
          expect_product<PlusTimes<Complex64>>(test::matrix_of<float>(900, indptr), block, slot, kept);
        }
}

TEST(PackedBlocks, FillSlotsButNotMore) {
  const auto packed = pack(test::matrix_of<One>(100'000, test::indptr_of(test::Rows::uniform, 40'000, 1)),
                           {.block_nnz = 2048});
  std::int64_t largest = 0, all = 0;
  for (const auto& b : *packed.blocks) largest = std::max(largest, b.bytes), all += b.bytes;
  for (const std::int64_t slot : {largest, 5 * largest, 2 * all}) {
    const PackedBlocks<One> source(packed, slot);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < source.count(); ++i) {
      EXPECT_LE(source.bytes(i), slot);
      EXPECT_EQ(source.bytes(i) % 128, 0);
      if (i + 1 < source.count()) {
        EXPECT_GT(source.bytes(i) + largest, slot);
      }
      sum += source.bytes(i);
    }
    EXPECT_EQ(sum, all);
  }
}

}  // namespace
}  // namespace penstock
