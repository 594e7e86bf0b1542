#include "penstock/kernel/spmv/spmv_plan.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "penstock/schedule/multiply.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr SpmvAlgorithm kAlgorithms[] = {SpmvAlgorithm::balanced, SpmvAlgorithm::blocked,
                                         SpmvAlgorithm::binned, SpmvAlgorithm::stencil,
                                         SpmvAlgorithm::automatic};

/// A matrix whose rows repeat the row above moved by one, with a few rows that do not.
template <class V>
Csr<V> banded(std::int64_t rows) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (const std::int64_t c : {r - 20, r - 1, r, r + 1, r + 20})
      if (c >= 0 && c < rows && !(r % 97 == 5 && c == r)) indices.push_back(static_cast<Index>(c));
    indptr.push_back(std::ssize(indices));
  }
  auto a = test::matrix_of<V>(rows, indptr);
  a.indices = test::array_of(indices);
  return a;
}

template <class S, class V>
void expect_exact_plans(const Csr<V>& a) {
  using T = typename S::value_type;
  const auto x = test::vector_of<T>(a.cols, 3);
  const auto nan = std::numeric_limits<T>::quiet_NaN();
  for (const auto algorithm : kAlgorithms) {
    SpmvPlans<V> plans;
    for (const Scale<S> scale : {Scale<S>{}, Scale<S>{3, 0}, Scale<S>{-2, 1}, Scale<S>{1, 5}}) {
      auto y = scale.beta == 0 ? std::vector<T>(static_cast<std::size_t>(a.rows), nan)
                               : test::vector_of<T>(a.rows, 4);
      auto expected = y;
      test::reference<S, V>(a, x, expected, scale);
      Trace trace;
      multiply<S, V>(a, x, y, plans, algorithm, scale, &trace);
      ASSERT_EQ(y, expected) << name(algorithm) << " alpha " << scale.alpha << " beta " << scale.beta;
      if (algorithm == SpmvAlgorithm::automatic) continue;
      ASSERT_EQ(trace.kernel, name(algorithm));
    }
  }
}

template <class S, class V>
void expect_exact_on_all() {
  for (const auto shape : test::kShapes)
    expect_exact_plans<S, V>(test::matrix_of<V>(90, test::indptr_of(shape, 150, 7)));
  expect_exact_plans<S, V>(
      test::matrix_of<V>(200'000, test::indptr_of(test::Rows::one_long, 70'000, 5)));  // several blocks
  expect_exact_plans<S, V>(banded<V>(3000));
  expect_exact_plans<S, V>(test::matrix_of<V>(7, {0}));
}

TEST(SpmvPlan, Double) { expect_exact_on_all<PlusTimes<double>, double>(); }
TEST(SpmvPlan, Float) { expect_exact_on_all<PlusTimes<float>, float>(); }
TEST(SpmvPlan, DoublePattern) { expect_exact_on_all<PlusTimes<double>, One>(); }
TEST(SpmvPlan, FloatPattern) { expect_exact_on_all<PlusTimes<float>, One>(); }

TEST(SpmvPlan, BuiltOnceByWhoeverComesFirst) {
  const auto a = test::matrix_of<double>(5000, test::indptr_of(test::Rows::powers, 5000, 6));
  const auto x = test::vector_of<double>(5000, 3);
  std::vector<double> expected(5000);
  test::reference<PlusTimes<double>, double>(a, x, expected, {});
  SpmvPlans<double> plans;
  EXPECT_EQ(plans.bytes(), 0);
  std::vector<std::vector<double>> ys(3, std::vector<double>(5000));
  {
    std::vector<std::jthread> callers;
    for (auto& y : ys)
      callers.emplace_back(
          [&] { multiply<PlusTimes<double>, double>(a, x, y, plans, SpmvAlgorithm::binned); });
  }
  for (const auto& y : ys) EXPECT_EQ(y, expected);
  const auto held = plans.bytes();
  EXPECT_GT(held, 0);
  EXPECT_EQ(plans.prepare(a.view(), SpmvAlgorithm::binned), SpmvAlgorithm::binned);
  EXPECT_EQ(plans.bytes(), held);
}

TEST(SpmvPlan, NamesGoBothWays) {
  for (const auto algorithm : kAlgorithms) EXPECT_EQ(spmv_algorithm(name(algorithm)), algorithm);
  std::string what;
  EXPECT_EQ(test::code_of([] { spmv_algorithm("magic"); }, &what), Errc::invalid_argument);
  EXPECT_NE(what.find("binned"), std::string::npos) << what;
}

TEST(SpmvPlan, RefusesWhatHasNoKernel) {
  const auto a = test::matrix_of<Complex128>(9, {0, 2, 5});
  const std::vector<Complex128> x(9);
  std::vector<Complex128> y(2);
  SpmvPlans<Complex128> plans;
  const auto ask = [&](SpmvAlgorithm how) {
    multiply<PlusTimes<Complex128>, Complex128>(a, x, y, plans, how);
  };
  EXPECT_EQ(test::code_of([&] { ask(SpmvAlgorithm::binned); }), Errc::not_compiled);
  EXPECT_NO_THROW(ask(SpmvAlgorithm::balanced));
}

}  // namespace

template <class S, class V>
void expect_transposed() {
  using T = typename S::value_type;
  for (const auto shape : test::kShapes) {
    const auto a = test::matrix_of<V>(90, test::indptr_of(shape, 150, 7));
    const auto x = test::vector_of<T>(a.rows, 3);
    for (const Scale<S> scale : {Scale<S>{}, Scale<S>{T(-2), T(5)}}) {
      auto y = test::vector_of<T>(a.cols, 4), expected = y;
      std::vector<T> sums(y.size());
      for (std::int64_t r = 0; r < a.rows; ++r)
        for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
          sums[static_cast<std::size_t>(a.indices.data[k])] +=
              entry<S>(a.values.data, k) * x[static_cast<std::size_t>(r)];
      for (std::size_t i = 0; i < y.size(); ++i)
        expected[i] =
            scale.beta == T(0) ? scale.alpha * sums[i] : scale.beta * expected[i] + scale.alpha * sums[i];
      spmv_transposed<S, V>(a.view(), x.data(), y.data(), scale);
      ASSERT_EQ(y, expected) << "rows of kind " << int(shape);
    }
  }
}

TEST(SpmvTransposed, IsTheProductWithTheTranspose) {
  expect_transposed<PlusTimes<double>, double>();
  expect_transposed<PlusTimes<float>, One>();
  expect_transposed<PlusTimes<Complex128>, Complex128>();
}

}  // namespace penstock
