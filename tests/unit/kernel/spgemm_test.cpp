#include "penstock/kernel/spgemm/spgemm.hpp"

#include <gtest/gtest.h>

#include <map>

#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "support.hpp"

namespace penstock {
namespace {

template <Semiring S, class V>
void expect_product(const Csr<V>& a, const Csr<V>& b, SpgemmOptions options) {
  using T = typename S::value_type;
  CsrView<T> left{.rows = a.rows, .cols = a.cols, .indptr = a.indptr.data, .indices = a.indices.data};
  if constexpr (!is_pattern<V>) left.values = a.values.data;
  const auto c = spgemm<S, V>(left, b.view(), options);
  ASSERT_EQ(c.rows, a.rows);
  ASSERT_EQ(c.indptr.data[0], 0);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    std::map<Index, T> row;
    for (auto e = a.indptr.data[r]; e < a.indptr.data[r + 1]; ++e)
      for (auto k = b.indptr.data[a.indices.data[e]]; k < b.indptr.data[a.indices.data[e] + 1]; ++k) {
        auto& sum = row.try_emplace(b.indices.data[k], S::zero()).first->second;
        sum = S::add(sum, S::mul(entry<S>(a.values.data, e), entry<S>(b.values.data, k)));
      }
    ASSERT_EQ(c.indptr.data[r + 1] - c.indptr.data[r], std::ssize(row)) << "row " << r;
    auto at = c.indptr.data[r];
    for (const auto& [column, value] : row) {
      ASSERT_EQ(c.indices.data[at], column);
      if constexpr (!std::same_as<S, OrAnd>) {
        ASSERT_EQ(c.values.data[at], value) << "row " << r << ", column " << column;
      }
      ++at;
    }
  }
  ASSERT_EQ(c.nnz(), c.indptr.data[a.rows]);
}

TEST(Spgemm, EveryShapeAndAccumulator) {
  for (const auto shape : test::kShapes)
    for (const auto how : {Accumulator::automatic, Accumulator::merge, Accumulator::hash, Accumulator::dense})
      for (const std::int64_t cols : {1, 64, 300}) {
        const auto a = test::matrix_of<double>(90, test::indptr_of(shape, 130, 1), 2);
        const auto b = test::matrix_of<double>(cols, test::indptr_of(shape, 90, 3), 4);
        expect_product<PlusTimes<double>>(a, b, {.accumulator = how});
        expect_product<MinPlus<double>>(a, b, {.accumulator = how});
        const auto p = test::matrix_of<One>(90, test::indptr_of(shape, 130, 1), 2);
        const auto q = test::matrix_of<One>(cols, test::indptr_of(shape, 90, 3), 4);
        expect_product<PlusTimes<float>>(p, q, {.accumulator = how});
        expect_product<OrAnd>(p, q, {.accumulator = how});
      }
}

TEST(Spgemm, ManyBlocksFromManyThreads) {
  const auto before = num_threads();
  const auto a = test::matrix_of<double>(4000, test::indptr_of(test::Rows::one_long, 4000, 5), 6);
  const auto b = test::matrix_of<double>(4000, test::indptr_of(test::Rows::powers, 4000, 7), 8);
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    expect_product<PlusTimes<double>>(a, b, {});
  }
  set_num_threads(before);
}

TEST(Spgemm, FewProductsInAWideWindow) {
  // 0 to 600 products a row, which fall on some of 20,000 columns or on a few of them
  std::vector<Offset> indptr{0};
  for (std::int64_t r = 0; r < 300; ++r) indptr.push_back(indptr.back() + r % 25);
  for (const std::int64_t cols : {700, 20'000}) {
    const auto a = test::matrix_of<double>(300, indptr, 11);
    const auto b = test::matrix_of<double>(cols, indptr, 12);
    expect_product<PlusTimes<double>>(a, b, {});
    expect_product<MinPlus<double>>(a, b, {});
    const auto p = test::matrix_of<One>(300, indptr, 11);
    const auto q = test::matrix_of<One>(cols, indptr, 12);
    expect_product<OrAnd>(p, q, {});
  }
}

TEST(Spgemm, StopsWhereMemoryEnds) {
  const auto a = test::matrix_of<double>(4000, test::indptr_of(test::Rows::uniform, 4000, 5), 6);
  std::string what;
  const auto run = [&](std::int64_t memory) {
    spgemm<PlusTimes<double>, double>(a.view(), a.view(), {.memory = memory});
  };
  EXPECT_EQ(test::code_of([&] { run(40'000); }, &what), Errc::out_of_memory);
  EXPECT_NE(what.find("40 KB are allowed"), std::string::npos) << what;
  const auto needed = spgemm<PlusTimes<double>, double>(a.view(), a.view(), {}).bytes();
  EXPECT_EQ(test::code_of([&] { run(needed - 12); }, &what), Errc::out_of_memory);
  EXPECT_NE(what.find("was reached"), std::string::npos) << what;
  run(needed);
}

TEST(Reservation, KeepsWhatWasWritten) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1000}, std::int64_t{1} << 24}) {
    Reservation r(bytes);
    const auto count = bytes / 16;
    for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<double*>(r.data())[i] = static_cast<double>(i);
    const auto kept = r.keep<double>(count);
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(kept.data[i], static_cast<double>(i));
  }
  const auto zeros = zeroed_bytes(3 << 20);
  for (int i = 0; i < 3 << 20; i += 1001) ASSERT_EQ(static_cast<const char*>(zeros.get())[i], 0);
}

TEST(Reservation, TakesThePagesOfAnEarlierOne) {
  // Larger, smaller and equal ones in turn, of which two live at a time: what is written stays, and a result owns its pages alone.
  constexpr std::int64_t kMega = 1 << 20;
  Array<std::int64_t> last;
  std::int64_t turn = 0;
  for (const std::int64_t mega : {16, 40, 40, 8, 30, 16, 64, 3}) {
    Reservation r(mega * kMega);
    const auto count = mega * kMega / 16;
    for (std::int64_t i = 0; i < count; i += 100) reinterpret_cast<std::int64_t*>(r.data())[i] = turn + i;
    for (std::int64_t i = 0; i < last.size; i += 100) ASSERT_EQ(last.data[i], turn - 1 + i);
    last = r.keep<std::int64_t>(count), ++turn;
    for (std::int64_t i = 0; i < count; i += 100) ASSERT_EQ(last.data[i], turn - 1 + i);
  }
  last = {};
  const auto zeros = zeroed_bytes(64 * kMega);
  for (std::int64_t i = 0; i < 64 * kMega; i += 1001) ASSERT_EQ(static_cast<const char*>(zeros.get())[i], 0);
}

}  // namespace
}  // namespace penstock
