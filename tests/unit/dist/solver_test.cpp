#include "penstock/solver/solve.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/solver/matrix_op.hpp"
#include "penstock/solver/precondition/levels.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// -1 2.5 -1 along a line.
Csr<double> line(std::int64_t n) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    for (const auto j : {i - 1, i, i + 1})
      if (j >= 0 && j < n) indices.push_back(static_cast<Index>(j)), values.push_back(i == j ? 2.5 : -1);
    indptr.push_back(std::ssize(indices));
  }
  auto a = test::matrix_of<double>(n, indptr);
  a.indices = test::array_of(indices);
  a.values = test::array_of(values);
  return a;
}

LinearOp<double> op_of(const Csr<double>& a) {
  return matrix_op<double, double>(a, std::make_shared<SpmvPlans<double>>(), InCore{});
}

double error_of(const LinearOp<double>& a, std::span<const double> b, std::span<const double> x) {
  std::vector<double> y(x.size());
  a.apply(x, y);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += (b[i] - y[i]) * (b[i] - y[i]);
  return std::sqrt(sum);
}

using Method = SolveResult (*)(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>,
                               std::span<double>, const SolveOptions&, const Space&);
constexpr Method kMethods[] = {cg<double>, pipelined_cg<double>, bicgstab<double>, gmres<double>};

TEST(Solver, EveryMethodReachesTheTrueResidual) {
  const auto a = line(3000);
  const auto op = op_of(a);
  const auto m = ilu0<double, double>(a, {.blocks = 7});
  const std::vector<double> b(3000, 1.0);
  for (const auto method : kMethods)
    for (const auto* pre : {static_cast<const LinearOp<double>*>(nullptr), &m}) {
      std::vector<double> x(b.size(), 0.5);
      const auto r = method(op, pre, b, x, {.rtol = 1e-10}, {});
      EXPECT_EQ(r.stop, Stop::converged) << r.reason;
      EXPECT_LE(error_of(op, b, x), 1.001 * r.target);
      EXPECT_EQ(std::ssize(r.residuals), r.iterations + 1);
    }
}

TEST(Solver, DotsOnTheWayAreThoseOfTheProduct) {
  // One row is longer than a block, so its pieces end after the others.
  const std::int64_t n = 70'000;
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i == 123)
      for (std::int64_t j = 0; j < n; ++j) indices.push_back(static_cast<Index>(j));
    else indices.push_back(static_cast<Index>((i * 7) % n));
    indptr.push_back(std::ssize(indices));
  }
  auto a = test::matrix_of<One>(n, indptr);
  a.indices = test::array_of(indices);
  std::vector<double> x(static_cast<std::size_t>(n)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 11) - 5;
  for (const auto algorithm : {SpmvAlgorithm::balanced, SpmvAlgorithm::blocked, SpmvAlgorithm::stencil}) {
    SpmvPlans<One> plans;
    ProductDots<double> dots(x.data());
    plans.multiply<PlusTimes<double>>(algorithm, a.view(), x.data(), y.data(), {}, &dots);
    double wy = 0, yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) wy += x[i] * y[i], yy += y[i] * y[i];
    EXPECT_EQ(dots.wy(), wy);  // whole numbers: exact in any order
    EXPECT_EQ(dots.yy(), yy);
  }
}

TEST(Solver, TriangleOrderRespectsWhatRowsNeed) {
  const std::int64_t n = 40'000, step = 2000;  // about four chunks are independent
  const auto needs = [&](std::int64_t i, auto&& f) {
    if (i >= step) f(static_cast<Index>(i - step));
    if (i > step) f(static_cast<Index>(i - step - 1));
  };
  const TriangleOrder order(n, {0, n}, false, needs);
  ASSERT_TRUE(order.parallel());
  const auto before = num_threads();
  set_num_threads(4);
  std::vector<std::int64_t> value(static_cast<std::size_t>(n), 0);
  order.run([&](std::int64_t first, std::int64_t last) {
    for (auto p = first; p < last; ++p) {
      const auto i = order.row(p);
      std::int64_t sum = 1;
      needs(i, [&](Index k) { sum += value[static_cast<std::size_t>(k)]; });
      value[static_cast<std::size_t>(i)] += sum;  // twice would show
    }
  });
  EXPECT_THROW(order.run([&](std::int64_t first, std::int64_t) {
    if (first > 0) throw Error(Errc::invalid_argument, "stop");
  }),
               Error);
  set_num_threads(before);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t sum = 1;
    needs(i, [&](Index k) { sum += value[static_cast<std::size_t>(k)]; });
    ASSERT_EQ(value[static_cast<std::size_t>(i)], sum);
  }
}

/// Ranks as threads: each owns a range of rows, sees the others' x, and adds up inner products with them.
TEST(Solver, RowsMayBelongToSeveralProcesses) {
  constexpr int kRanks = 3;
  const std::int64_t n = 900, each = n / kRanks;
  const auto a = line(n);
  std::vector<double> everyone(static_cast<std::size_t>(n)), sums(kRanks * 8);
  for (const auto method : kMethods) {
    std::vector<double> x(static_cast<std::size_t>(n), 0.0);
    const std::vector<double> b(x.size(), 1.0);
    std::barrier meet(kRanks);
    std::vector<SolveResult> results(kRanks);
    const auto rank = [&](int me) {
      const auto first = me * each;
      LinearOp<double> op;
      op.rows = each;
      op.apply = [&, first](std::span<const double> from, std::span<double> to) {
        std::copy(from.begin(), from.end(), everyone.begin() + first);
        meet.arrive_and_wait();
        for (std::int64_t i = 0; i < each; ++i) {
          double sum = 0;
          for (auto k = a.indptr.data[first + i]; k < a.indptr.data[first + i + 1]; ++k)
            sum += a.values.data[k] * everyone[static_cast<std::size_t>(a.indices.data[k])];
          to[static_cast<std::size_t>(i)] = sum;
        }
        meet.arrive_and_wait();
      };
      std::span<double> pending;
      Space space;
      space.start_sum = [&, me](std::span<double> mine) {
        for (std::size_t i = 0; i < mine.size(); ++i) sums[static_cast<std::size_t>(me) * 8 + i] = mine[i];
        pending = mine;
      };
      space.finish_sum = [&] {
        meet.arrive_and_wait();
        for (std::size_t i = 0; i < pending.size(); ++i) {
          pending[i] = 0;
          for (std::size_t r = 0; r < kRanks; ++r) pending[i] += sums[r * 8 + i];
        }
        meet.arrive_and_wait();
      };
      const std::span mine(b.data() + first, static_cast<std::size_t>(each));
      results[static_cast<std::size_t>(me)] =
          method(op, nullptr, mine, {x.data() + first, mine.size()}, {.rtol = 1e-9, .restart = 6}, space);
    };
    {
      std::vector<std::jthread> ranks;
      for (int me = 0; me < kRanks; ++me) ranks.emplace_back(rank, me);
    }
    for (const auto& r : results) {
      EXPECT_EQ(r.stop, Stop::converged) << r.reason;
      EXPECT_EQ(r.iterations, results[0].iterations);
    }
    EXPECT_LE(error_of(op_of(a), b, x), 1.001e-9 * std::sqrt(static_cast<double>(n)));
  }
}

TEST(Solver, ColumnsShareProductsAndStopAlone) {
  const auto a = line(500);
  const auto one = op_of(a);
  auto many = one;
  std::vector<std::size_t> widths;
  many.apply_many = [&](std::span<const double> x, std::span<double> y, std::int64_t columns) {
    widths.push_back(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < x.size(); i += 500) one.apply(x.subspan(i, 500), y.subspan(i, 500));
  };
  std::vector<double> b(1500, 0.0), x(1500, 0.0);
  for (std::size_t i = 0; i < 500; ++i)
    b[i] = std::sin(0.0063 * static_cast<double>(i + 1)), b[500 + i] = i % 3;
  const auto results = cg_many<double>(many, nullptr, b, x, 3, {.rtol = 1e-9}, {});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[2].iterations, 0);  // a right-hand side of zeros
  EXPECT_NE(results[0].iterations, results[1].iterations);
  EXPECT_EQ(std::ssize(widths), std::min(results[0].iterations, results[1].iterations));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].stop, Stop::converged);
    const std::span bs(b.data() + i * 500, 500);
    EXPECT_LE(error_of(one, bs, {x.data() + i * 500, 500}), 1.001 * results[i].target);
  }
}

TEST(Solver, FactorsNameTheRowOfAZeroPivot) {
  auto a = line(5);
  std::vector<double> values(a.values.data, a.values.data + a.values.size);
  values[0] = 0;
  a.values = test::array_of(values);
  const auto words = [&](auto&& make) {
    try {
      make();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(words([&] { (void)ilu0<double, double>(a); }).find("row 0 "), std::string::npos);
  EXPECT_NE(words([&] { (void)ic0<double, double>(a); }).find("row 0 "), std::string::npos);
  EXPECT_NE(words([&] { (void)jacobi<double, double>(a); }).find("row 0 "), std::string::npos);
  EXPECT_EQ((ilu0<double, double>(a, {.shift = 1}).rows), 5);
}

}  // namespace
}  // namespace penstock
