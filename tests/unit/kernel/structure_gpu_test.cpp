// Operations on matrices in a device's memory, with the CPU as the device, against those of the CPU.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/kernel/structure/check_gpu.hpp"
#include "penstock/kernel/structure/coo_gpu.hpp"
#include "penstock/kernel/structure/elementwise.hpp"
#include "penstock/kernel/structure/entries_gpu.hpp"
#include "penstock/kernel/structure/filter.hpp"
#include "penstock/kernel/structure/filter_gpu.hpp"
#include "penstock/kernel/structure/permute.hpp"
#include "penstock/kernel/structure/scale.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "penstock/kernel/structure/transpose_gpu.hpp"
#include "support.hpp"

namespace penstock {
namespace {

const Stream kOnHost{};

template <class T>
Array<T> array_of(const std::vector<T>& v) {
  const auto a = allocate<T>(std::ssize(v));
  std::copy(v.begin(), v.end(), a.data);
  return a;
}

template <class V>
V value_of(std::mt19937& rng) {
  const auto number = [&] { return static_cast<double>(rng() % 2000) / 7 - 100; };
  if constexpr (is_pattern<V>) return {};
  else if constexpr (std::is_floating_point_v<V>) return static_cast<V>(number());
  else return V(static_cast<typename V::value_type>(number()), static_cast<typename V::value_type>(number()));
}

/// Rows of random lengths, some of them empty, in any order and with duplicates.
template <class V>
Csr<V> random_csr(std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<Offset> indptr{0};
  for (std::int64_t r = 0; r < rows; ++r)
    indptr.push_back(indptr.back() + (cols == 0 || rng() % 3 == 0 ? 0 : static_cast<Offset>(rng() % 9)));
  std::vector<Index> indices;
  std::vector<V> values;
  for (Offset k = 0; k < indptr.back(); ++k) {
    indices.push_back(static_cast<Index>(rng() % static_cast<unsigned>(cols)));
    values.push_back(value_of<V>(rng));
  }
  Csr<V> a{rows, cols, array_of(indptr), array_of(indices), {}};
  if constexpr (!is_pattern<V>) a.values = array_of(values);
  return a;
}

template <class T>
bool same_bits(const Array<const T>& a, const Array<const T>& b) {
  return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, at(a.bytes())) == 0);
}

template <class V>
void expect_same_entries(const Csr<V>& a, const Csr<V>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_TRUE(same_bits(a.indptr, b.indptr));
  EXPECT_TRUE(same_bits(a.indices, b.indices));
  if constexpr (!is_pattern<V>) {
    EXPECT_TRUE(same_bits(a.values, b.values));
  }
}

template <class V>
class OnDevice : public testing::Test {};
using AllValues = testing::Types<One, float, double, Complex64, Complex128>;
TYPED_TEST_SUITE(OnDevice, AllValues);

constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {{0, 0},  {0, 5},  {5, 0},     {1, 1},   {7, 1},
                                                             {1, 40}, {33, 5}, {300, 400}, {2000, 3}};

TYPED_TEST(OnDevice, TransposesAsTheCpu) {
  for (const auto& [rows, cols] : kShapes) {
    const auto a = random_csr<TypeParam>(rows, cols, 1);
    expect_same_entries(transpose_on(a, kOnHost), transpose(a));
  }
}

TYPED_TEST(OnDevice, SortsRowsAsTheCpu) {
  for (const auto& [rows, cols] : kShapes) {
    const auto a = random_csr<TypeParam>(rows, cols, 2);
    const auto sorted = sort_rows(a, false), merged = sort_rows(a, true);
    expect_same_entries(sort_rows_on(a, false, kOnHost), sorted);
    expect_same_entries(sort_rows_on(a, true, kOnHost), merged);
    for (const auto& m : {a, sorted, merged}) {
      const Csr<One> pattern{m.rows, m.cols, m.indptr, m.indices, {}};
      const auto found = row_order_on(pattern, kOnHost), expected = row_order(pattern);
      EXPECT_EQ(found.sorted, expected.sorted);
      EXPECT_EQ(found.canonical, expected.canonical);
    }
  }
}

template <class V, class R, class C>
void expect_assembled(std::int64_t n, std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<R> row;
  std::vector<C> col;
  std::vector<V> values;
  for (std::int64_t k = 0; k < n; ++k) {
    row.push_back(static_cast<R>(rng() % static_cast<unsigned>(rows)));
    col.push_back(static_cast<C>(rng() % static_cast<unsigned>(cols)));
    values.push_back(value_of<V>(rng));
  }
  const CooView<V> coo{rows,
                       cols,
                       n,
                       {row.data(), sizeof(R) == 8},
                       {col.data(), sizeof(C) == 8},
                       is_pattern<V> ? nullptr : values.data()};
  expect_same_entries(coo_to_csr_on(coo, kOnHost), coo_to_csr(coo));
}

TYPED_TEST(OnDevice, AssemblesAsTheCpu) {
  using Wide = std::int64_t;
  expect_assembled<TypeParam, Index, Index>(0, 4, 4, 1);
  expect_assembled<TypeParam, Index, Wide>(1, 1, 1, 2);
  expect_assembled<TypeParam, Wide, Index>(500, 1, 1, 3);  // one sum of 500
  expect_assembled<TypeParam, Wide, Wide>(3000, 40, 30, 4);
  expect_assembled<TypeParam, Index, Index>(2000, 100000, 2000000000, 5);
}

TYPED_TEST(OnDevice, TakesRowsAndDiagonals) {
  const auto a = random_csr<TypeParam>(50, 30, 6);
  for (const auto& [first, last] : {std::pair(0, 50), {0, 0}, {50, 50}, {7, 8}, {3, 41}}) {
    const auto part = row_range_on(a, first, last, kOnHost);
    ASSERT_EQ(part.indptr.size, last - first + 1);
    for (int r = first; r <= last; ++r)
      EXPECT_EQ(part.indptr.data[r - first], a.indptr.data[r] - a.indptr.data[first]);
    EXPECT_EQ(part.indices.data, a.indices.data + a.indptr.data[first]);
    EXPECT_EQ(part.nnz(), a.indptr.data[last] - a.indptr.data[first]);
  }
  for (const int k : {0, 3, -20, 29, -49}) {
    const auto d = diagonal_on(a, k, kOnHost);
    const auto row0 = std::max(-k, 0), col0 = std::max(k, 0);
    ASSERT_EQ(d.size, std::min(50 - row0, 30 - col0));
    for (std::int64_t i = 0; i < d.size; ++i) {
      std::remove_cvref_t<decltype(*d.data)> sum{};
      for (auto e = a.indptr.data[i + row0]; e < a.indptr.data[i + row0 + 1]; ++e) {
        if (a.indices.data[e] != i + col0) continue;
        if constexpr (is_pattern<TypeParam>) sum = true;
        else sum += a.values.data[e];
      }
      EXPECT_EQ(d.data[i], sum);
    }
  }
}

TYPED_TEST(OnDevice, FiltersAsTheCpu) {
  for (const auto& [rows, cols] : kShapes) {
    const auto a = sort_rows(random_csr<TypeParam>(rows, cols, 9), true);
    const auto m = sort_rows(random_csr<One>(rows, cols, 10), true);
    for (const bool yes : {false, true}) {
      expect_same_entries(mask_on(a, m, yes, kOnHost), mask(a, m, yes));
      for (const int k : {0, -2, 3})
        expect_same_entries(triangle_on(a, k, yes, kOnHost), triangle(a, k, yes));
    }
    expect_same_entries(without_zeros_on(a, kOnHost), without_zeros(a));
    if constexpr (!is_pattern<TypeParam>) {
      auto zeros = a;
      const auto values = allocate<TypeParam>(a.nnz());
      for (Offset k = 0; k < a.nnz(); ++k) values.data[k] = k % 3 == 0 ? TypeParam(-0.0) : a.values.data[k];
      zeros.values = values;
      expect_same_entries(without_zeros_on(zeros, kOnHost), without_zeros(zeros));
    }
  }
}

TYPED_TEST(OnDevice, TakesAnyRows) {
  const auto a = random_csr<TypeParam>(50, 30, 11);
  std::mt19937 rng(12);
  std::vector<Index> places(30);
  for (Index j = 0; j < 30; ++j) places[at(j)] = (j * 7 + 3) % 30;
  for (const int n : {0, 1, 50, 300}) {
    std::vector<std::int64_t> rows;
    for (int i = 0; i < n; ++i) rows.push_back(static_cast<std::int64_t>(rng() % 50));
    expect_same_entries(take_rows_on(a, rows, {}, kOnHost), take_rows(a, rows, {}));
    expect_same_entries(take_rows_on(a, rows, places, kOnHost), take_rows(a, rows, places));
  }
  const std::vector<std::int64_t> outside{3, 50};
  EXPECT_THROW(take_rows_on(a, outside, {}, kOnHost), Error);
}

TEST(OnDeviceScale, AsTheCpu) {
  const auto a = random_csr<double>(50, 30, 7);
  const auto ones = random_csr<One>(50, 30, 7);
  std::mt19937 rng(8);
  std::vector<double> r(50), c(30);
  for (auto& v : r) v = value_of<double>(rng);
  for (auto& v : c) v = value_of<double>(rng);
  for (const auto* rows : {r.data(), static_cast<double*>(nullptr)})
    for (const auto* cols : {c.data(), static_cast<double*>(nullptr)}) {
      EXPECT_TRUE(
          same_bits<double>(scale_on<double>(a, rows, cols, kOnHost).values, scaled_values(a, rows, cols)));
      EXPECT_TRUE(same_bits<double>(scale_on<double>(ones, rows, cols, kOnHost).values,
                                    scaled_values(ones, rows, cols)));
    }
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(OnDeviceChecks, SayWhatTheCpuSays) {
  const std::vector<Offset> good{0, 2, 4}, falls{0, 5, 4}, starts{1, 2, 4}, ends{0, 2, 3}, shorter{0, 4};
  const std::vector<Index> columns{0, 1, 2, 3}, outside{0, 1, 4, 3}, negative{0, -1, 2, 3};
  for (const auto& indptr : {good, falls, starts, ends, shorter})
    for (const auto& indices : {columns, outside, negative}) {
      const Csr<One> a{2, 4, array_of(indptr), array_of(indices), {}};
      const auto expected = message_of([&] { validate(a, true); });
      const auto found = message_of([&] { validate_on(a, kOnHost); });
      if (indptr == falls)
        EXPECT_NE(found.find("indptr falls from 5 to 4 at row 1"), std::string::npos) << found;
      else EXPECT_EQ(found, expected);
    }
}

TEST(OnDeviceChecks, ConvertIndices) {
  const auto narrow = array_of(std::vector<std::int32_t>{0, 3, 7});
  const auto wide = wide_offsets(narrow.data, 3, kOnHost);
  EXPECT_EQ(wide.data[2], 7);
  EXPECT_EQ(narrow_offsets(wide, 7, kOnHost).data[1], 3);
  EXPECT_NE(message_of([&] { narrow_offsets(wide, 1ll << 31, kOnHost); }).find("2147483648 entries"),
            std::string::npos);
  const auto columns = array_of(std::vector<std::int64_t>{5, (1ll << 31) - 1, 1ll << 31, -1});
  EXPECT_EQ(narrow_columns(columns.data, 2, "indices", kOnHost).data[1], 0x7fffffff);
  const auto told = message_of([&] { narrow_columns(columns.data, 4, "indices", kOnHost); });
  EXPECT_NE(told.find("indices[2] = 2147483648 is outside"), std::string::npos) << told;
}

}  // namespace
}  // namespace penstock
