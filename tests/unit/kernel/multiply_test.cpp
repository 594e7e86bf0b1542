#include "penstock/schedule/multiply.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "penstock/core/parallel.hpp"
#include "support.hpp"

namespace penstock {
namespace {

std::vector<Schedule> schedules() {
  std::vector<Schedule> all{InCore{}, ZeroCopy{}};
  for (const std::int64_t block : {64, 500, 8 << 10, 0})
    for (const int slots : {1, 2, 5})
      for (const std::size_t devices : {1, 2, 3})
        all.push_back(Streamed{.devices = std::vector<Where>(devices), .block_bytes = block, .slots = slots});
  all.push_back(Streamed{.block_bytes = 0, .slots = 3, .ring_bytes = 2000});
  return all;
}

std::string describe(const Schedule& how) {
  std::string text(name(how));
  if (const auto* s = std::get_if<Streamed>(&how))
    text += " block " + std::to_string(s->block_bytes) + " slots " + std::to_string(s->slots) + " devices " +
            std::to_string(s->devices.size());
  return text;
}

/// Every schedule on every shape of matrix gives the reference product exactly.
template <Semiring S, class V>
void expect_exact(std::vector<Scale<S>> scales) {
  using T = typename S::value_type;
  for (const auto shape : test::kShapes) {
    const auto a = test::matrix_of<V>(90, test::indptr_of(shape, 150, 7));
    const auto x = test::vector_of<T>(a.cols, 3);
    for (const auto& scale : scales) {
      const auto y0 = test::vector_of<T>(a.rows, 4);
      auto expected = y0;
      test::reference<S, V>(a, x, expected, scale);
      for (const auto& how : schedules()) {
        auto y = y0;
        multiply<S, V>(a, x, y, how, scale);
        ASSERT_EQ(y, expected) << describe(how) << ", rows of kind " << int(shape);
      }
    }
  }
}

template <class T>
std::vector<Scale<PlusTimes<T>>> scales() {
  return {{}, Scale<PlusTimes<T>>::accumulate(), {T(3), T(0)}, {T(-2), T(5)}, {T(0), T(2)}};
}

TEST(Multiply, PlusTimesDouble) { expect_exact<PlusTimes<double>, double>(scales<double>()); }
TEST(Multiply, PlusTimesFloat) { expect_exact<PlusTimes<float>, float>(scales<float>()); }
TEST(Multiply, PlusTimesMixed) { expect_exact<PlusTimes<double>, float>(scales<double>()); }
TEST(Multiply, PlusTimesPattern) { expect_exact<PlusTimes<double>, One>(scales<double>()); }
TEST(Multiply, PlusTimesComplex) { expect_exact<PlusTimes<Complex128>, Complex128>(scales<Complex128>()); }
TEST(Multiply, PlusTimesComplexPattern) { expect_exact<PlusTimes<Complex64>, One>(scales<Complex64>()); }
TEST(Multiply, MinPlus) {
  using S = MinPlus<double>;
  expect_exact<S, double>({{}, Scale<S>::accumulate(), {3, 5}, {S::zero(), 0}});
  expect_exact<S, One>({{}, Scale<S>::accumulate()});
}
TEST(Multiply, MaxTimes) { expect_exact<MaxTimes<float>, float>({{}, Scale<MaxTimes<float>>::accumulate()}); }
TEST(Multiply, OrAnd) {
  const auto a = test::matrix_of<One>(90, test::indptr_of(test::Rows::one_long, 150, 7));
  std::vector<std::uint8_t> x(90), y(150, 7), expected(150, 7);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 11 == 0;
  test::reference<OrAnd, One>(a, x, expected, {});
  for (const auto& how : schedules()) {
    multiply<OrAnd, One>(a, x, y, how);
    ASSERT_EQ(y, expected) << describe(how);
  }
}

TEST(Multiply, ResultsDoNotDependOnTheThreads) {
  const auto a = test::matrix_of<double>(90'000, test::indptr_of(test::Rows::one_long, 40'000, 9));
  std::vector<double> x(90'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 3);  // sums do round
  std::vector<double> first;
  const int old = num_threads();
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    std::vector<double> y(40'000);
    multiply<PlusTimes<double>, double>(a, x, y);
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << threads << " threads";
  }
  set_num_threads(old);
}

TEST(Multiply, BetaZeroNeverReadsY) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto shape : test::kShapes) {
    const auto a = test::matrix_of<double>(90, test::indptr_of(shape, 150, 7));
    const auto x = test::vector_of<double>(90, 3);
    for (const auto& how : schedules())
      for (const double alpha : {1.0, 2.0}) {
        std::vector<double> y(150, nan);
        multiply<PlusTimes<double>, double>(a, x, y, how, {alpha, 0.0});
        for (const double v : y) ASSERT_EQ(v, v) << describe(how);
      }
  }
}

TEST(Scale, IsTheBlasRule) {
  using S = PlusTimes<double>;
  EXPECT_TRUE(Scale<S>{}.plain());
  EXPECT_FALSE(Scale<S>::accumulate().plain());
  EXPECT_FALSE((Scale<S>{2, 0}.plain()));
  EXPECT_EQ((Scale<S>{2, 3}(5, 7)), 31);
  EXPECT_EQ((Scale<S>{2, 0}(5, std::numeric_limits<double>::quiet_NaN())), 10);
  using M = MinPlus<double>;  // one is 0, zero is infinity
  EXPECT_TRUE(Scale<M>{}.plain());
  EXPECT_EQ((Scale<M>{2, 1}(5, 9)), 7);
  EXPECT_EQ((Scale<M>{}(5, 1)), 5);
}

TEST(Multiply, RefusesWrongLengthsAndPlaces) {
  auto a = test::matrix_of<double>(5, {0, 1, 3});
  std::vector<double> x(5), y(2), wrong(4);
  std::string what;
  EXPECT_EQ(test::code_of([&] { multiply<PlusTimes<double>, double>(a, wrong, y); }, &what),
            Errc::invalid_argument);
  EXPECT_NE(what.find("x has 4"), std::string::npos) << what;
  EXPECT_EQ(test::code_of([&] { multiply<PlusTimes<double>, double>(a, x, wrong); }, &what),
            Errc::invalid_argument);
  EXPECT_NE(what.find("y has 4"), std::string::npos) << what;
  a.indices.place = Place{Memory::device, 0};
  EXPECT_EQ(test::code_of([&] { multiply<PlusTimes<double>, double>(a, x, y); }, &what),
            Errc::not_accessible);
}

TEST(Multiply, TraceCountsBytes) {
  const auto a = test::matrix_of<double>(90, test::indptr_of(test::Rows::uniform, 150, 7));
  const auto x = test::vector_of<double>(90, 3);
  std::vector<double> y(150);
  Trace t;
  multiply<PlusTimes<double>, double>(a, x, y, InCore{}, {}, &t);
  EXPECT_EQ(t.schedule, "in_core");
  EXPECT_EQ(t.tiles, 1);
  EXPECT_EQ(t.copied_bytes, 0);
  EXPECT_EQ(t.ring_bytes, 0);
  EXPECT_EQ(t.kernel_bytes, a.bytes() + 8 * (90 + 150));
  EXPECT_GT(t.seconds, 0);
  multiply<PlusTimes<double>, double>(a, x, y, InCore{}, {1, 1}, &t);
  EXPECT_EQ(t.kernel_bytes, a.bytes() + 8 * (90 + 2 * 150));

  for (const std::size_t devices : {1, 3}) {
    const Streamed how{.devices = std::vector<Where>(devices), .block_bytes = 1000, .slots = 2};
    multiply<PlusTimes<double>, double>(a, x, y, how, {}, &t);
    EXPECT_EQ(t.schedule, "streamed");
    EXPECT_GT(t.tiles, 4);
    // each tile has one row offset more than it has rows
    EXPECT_EQ(t.copied_bytes, a.bytes() - 8 + 8 * t.tiles) << devices;
    EXPECT_EQ(t.link_bytes, 0);  // the host device has no link
    EXPECT_GT(t.ring_bytes, 0);
    EXPECT_GT(t.copy_seconds, 0);
  }
}

TEST(Multiply, RingKeepsToItsBytes) {
  for (const auto shape : test::kShapes) {
    const auto a = test::matrix_of<double>(90, test::indptr_of(shape, 3000, 7));
    const auto x = test::vector_of<double>(90, 3);
    std::vector<double> y(3000);
    for (const std::int64_t ring : {3'000, 6'000, 20'000, 100'000}) {
      Trace t;
      multiply<PlusTimes<double>, double>(a, x, y, Streamed{.slots = 3, .ring_bytes = ring}, {}, &t);
      EXPECT_GT(t.ring_bytes, 0);
      EXPECT_LE(t.ring_bytes, ring) << "rows of kind " << int(shape);
    }
  }
}

TEST(LeastBytes, CountsEachArrayOnce) {
  const auto a = test::matrix_of<One>(9, {0, 2, 5});
  EXPECT_EQ(least_bytes(a, 8), a.bytes() + 8 * (9 + 2));
  EXPECT_EQ(least_bytes(a, 8, true), a.bytes() + 8 * (9 + 2 + 2));
}

}  // namespace
}  // namespace penstock
