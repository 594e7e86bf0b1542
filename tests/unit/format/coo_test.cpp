#include "penstock/format/coo.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/io/random.hpp"
#include "threads.hpp"

namespace penstock {
namespace {

template <class V, class I>
CooView<V> view(std::int64_t rows, std::int64_t cols, const std::vector<I>& row, const std::vector<I>& col,
                const std::vector<V>& values) {
  constexpr bool wide = sizeof(I) == 8;
  return {rows,         cols, static_cast<std::int64_t>(row.size()), {row.data(), wide}, {col.data(), wide},
          values.data()};
}

template <class T>
std::vector<std::remove_const_t<T>> to_vector(const Array<T>& a) {
  return {a.data, a.data + a.size};
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::invalid_argument);
    return e.what();
  }
  return "no error";
}

using test::Threads;

TEST(Coo, SortsAndSums) {
  const std::vector<std::int32_t> row{2, 0, 2, 2}, col{1, 3, 0, 1};
  const std::vector<double> values{1, 2, 3, 4};
  const auto a = coo_to_csr(view(3, 4, row, col, values));
  EXPECT_EQ(to_vector(a.indptr), (std::vector<Offset>{0, 1, 1, 3}));
  EXPECT_EQ(to_vector(a.indices), (std::vector<Index>{3, 0, 1}));
  EXPECT_EQ(to_vector(a.values), (std::vector<double>{2, 3, 5}));
  const auto kept = coo_to_csr(view(3, 4, row, col, values), {.sum_duplicates = false});
  EXPECT_EQ(to_vector(kept.indices), (std::vector<Index>{3, 0, 1, 1}));
  EXPECT_EQ(to_vector(kept.values), (std::vector<double>{2, 3, 1, 4}));
}

TEST(Coo, MatchesAMapForAnyNumberOfThreads) {
  constexpr std::int64_t kEntries = 300'000, kRows = 700, kCols = 50'000;
  const Random random(1, 1);
  std::vector<std::int64_t> row, col;
  std::vector<double> values;
  std::map<std::pair<std::int64_t, std::int64_t>, double> expected;
  for (std::uint64_t e = 0; e < kEntries; ++e) {
    row.push_back(below(random(3 * e), below(random(3 * e + 2), kRows) + 1));  // heavy low rows
    col.push_back(e % 2 ? 7 : below(random(3 * e + 1), kCols));
    values.push_back(static_cast<double>(below(random(e), 1000)));  // sums are exact
    expected[{row.back(), col.back()}] += values.back();
  }
  for (const int threads : {1, 2, 3}) {
    const Threads limit(threads);
    const auto a = coo_to_csr(view(kRows, kCols, row, col, values));
    ASSERT_EQ(a.nnz(), static_cast<std::int64_t>(expected.size()));
    auto want = expected.begin();
    for (std::int64_t r = 0; r < kRows; ++r)
      for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k, ++want) {
        ASSERT_EQ(want->first, std::pair(r, static_cast<std::int64_t>(a.indices.data[k])));
        ASSERT_EQ(want->second, a.values.data[k]);
      }
  }
}

TEST(Coo, OneEntryManyTimes) {
  const std::vector<std::int32_t> zeros(1'000'000, 0);
  const std::vector<double> ones(zeros.size(), 1.0);
  const auto a = coo_to_csr(view(1, 1, zeros, zeros, ones));
  ASSERT_EQ(a.nnz(), 1);
  EXPECT_EQ(a.values.data[0], 1e6);
  EXPECT_EQ(coo_to_csr(view(1, 1, zeros, zeros, ones), {.sum_duplicates = false}).nnz(), 1'000'000);
}

TEST(Coo, Mirrors) {
  using C = Complex128;
  const std::vector<std::int32_t> row{1, 1}, col{0, 1};
  const std::vector<C> values{{1, 2}, {0, 0}};
  const auto lower = [&](Mirror m) {
    return to_vector(coo_to_csr(view(2, 2, row, col, values), {.mirror = m}).values);
  };
  EXPECT_EQ(lower(Mirror::none), (std::vector<C>{{1, 2}, {0, 0}}));
  EXPECT_EQ(lower(Mirror::symmetric), (std::vector<C>{{1, 2}, {1, 2}, {0, 0}}));
  EXPECT_EQ(lower(Mirror::skew), (std::vector<C>{{-1, -2}, {1, 2}, {0, 0}}));
  EXPECT_EQ(lower(Mirror::hermitian), (std::vector<C>{{1, -2}, {1, 2}, {0, 0}}));
}

TEST(Coo, NamesTheFirstBadEntry) {
  std::vector<std::int64_t> row(1'000'000, 1), col(row);
  const std::vector<float> values(row.size(), 1.0f);
  const auto convert = [&] { coo_to_csr(view(5, 5, row, col, values)); };
  col[999'999] = -7, col[400'000] = std::int64_t{1} << 40;
  EXPECT_NE(message_of(convert).find("column index 1099511627776 at entry 400000 "), std::string::npos);
  row[300'000] = 5;
  EXPECT_NE(
      message_of(convert).find("row index 5 at entry 300000 is outside [0, 5): are the indices one-based?"),
      std::string::npos);
}

/// Buckets follow the counts: no bucket without rows, none over 65536 rows, all rows covered in order.
TEST(Assemble, BucketsCoverTheRows) {
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{65'537}, std::int64_t{3'000'000'000}}) {
    const int shift = detail::granule_shift(rows);
    std::vector<Offset> counts(static_cast<std::size_t>(((rows - 1) >> shift) + 1), 3);
    counts[counts.size() / 2] = Offset{1} << 33;  // by type: more entries than 32 bits count
    const auto map = detail::make_buckets(rows, shift, counts);
    std::int64_t row = 0;
    Offset entry = 0;
    for (const auto& b : map.buckets) {
      EXPECT_EQ(b.first_row, row);
      EXPECT_EQ(b.begin, entry);
      EXPECT_LE(b.rows, 65'536);
      EXPECT_GT(b.rows, 0);
      row += b.rows, entry += b.size;
    }
    EXPECT_EQ(row, rows);
    EXPECT_EQ(entry, map.entries);
    EXPECT_GE(map.entries, Offset{1} << 33);
  }
}

}  // namespace
}  // namespace penstock
