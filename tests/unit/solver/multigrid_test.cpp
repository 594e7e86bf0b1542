// Smoothed aggregation: levels and cycles with 1, 2 and 4 threads, against plain loops.
#include "penstock/solver/multigrid/hierarchy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// The Laplacian of an n x n grid, times `factor`.
Csr<double> grid(std::int64_t n, double factor = 1) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values;
  const auto add = [&](std::int64_t column, double value) {
    indices.push_back(static_cast<Index>(column)), values.push_back(factor * value);
  };
  for (std::int64_t r = 0; r < n * n; ++r) {
    if (r >= n) add(r - n, -1);
    if (r % n > 0) add(r - 1, -1);
    add(r, 4);
    if (r % n < n - 1) add(r + 1, -1);
    if (r + n < n * n) add(r + n, -1);
    indptr.push_back(std::ssize(indices));
  }
  return {n * n, n * n, test::array_of(indptr), test::array_of(indices), test::array_of(values)};
}

std::vector<double> times(const Csr<double>& a, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
      y[std::size_t(r)] += a.values.data[k] * x[std::size_t(a.indices.data[k])];
  return y;
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const auto v : x) sum += v * v;
  return std::sqrt(sum);
}

AmgOptions options(AmgCycle cycle) {
  AmgOptions o;
  o.cycle = cycle, o.max_coarse = 10;
  return o;
}

TEST(Multigrid, CyclesReduceTheResidualWithTheSameBitsForAnyThreads) {
  const auto a = grid(60);
  const auto n = static_cast<std::size_t>(a.rows);
  const auto before = num_threads();
  for (const auto cycle : {AmgCycle::v, AmgCycle::w, AmgCycle::k}) {
    std::vector<double> first;
    for (const int threads : {1, 2, 4}) {
      set_num_threads(threads);
      const auto h = build_hierarchy<double>(a, std::vector<double>(n, 1.0), 1, options(cycle));
      EXPECT_GE(h->levels.size(), 3u);
      const auto m = multigrid<double, double>(h, 1);
      std::vector<double> x(n), r = test::vector_of<double>(a.rows, 3), z(n);
      const auto b = r;
      for (int step = 0; step < 30; ++step) {
        m.apply(r, z);
        for (std::size_t i = 0; i < n; ++i) x[i] += z[i];
        const auto ax = times(a, x);
        for (std::size_t i = 0; i < n; ++i) r[i] = b[i] - ax[i];
      }
      EXPECT_LE(norm(r), 1e-6 * norm(b));
      if (first.empty()) first = x;
      EXPECT_EQ(x, first) << threads << " threads";
    }
  }
  set_num_threads(before);
}

TEST(Multigrid, CoarseMatricesAreGalerkinProducts) {
  const auto a = grid(25);
  const auto h =
      build_hierarchy<double>(a, std::vector<double>(std::size_t(a.rows), 1.0), 1, options(AmgCycle::v));
  for (std::size_t l = 0; l + 1 < h->levels.size(); ++l) {
    const auto& level = h->levels[l];
    const auto& coarse = h->levels[l + 1].a;
    const auto x = test::vector_of<double>(coarse.rows, 5);
    const auto direct = times(coarse, x), by_steps = times(level.r, times(level.a, times(level.p, x)));
    for (std::size_t i = 0; i < direct.size(); ++i) EXPECT_NEAR(direct[i], by_steps[i], 1e-11);
  }
}

TEST(Multigrid, BytesOfACycleCountEachVisit) {
  const std::vector<LevelBytes> two{{.a = 100, .p = 10, .r = 10, .steps = 2}, {.a = 50, .steps = 2}};
  EXPECT_EQ(bytes_of_cycle(two, 7, AmgCycle::v), 4 * 100 + 20 + 7);
  EXPECT_EQ(bytes_of_cycle(two, 7, AmgCycle::w), 4 * 100 + 20 + 7);    // the last level is solved once
  EXPECT_EQ(bytes_of_cycle(two, -1, AmgCycle::v), 4 * 100 + 20 + 50);  // or smoothed
  const std::vector<LevelBytes> three{two[0], {.a = 50, .p = 5, .r = 5, .steps = 2}, {.a = 20, .steps = 2}};
  // The level between is visited twice, with a residual between the visits; a K cycle multiplies after each.
  EXPECT_EQ(bytes_of_cycle(three, 7, AmgCycle::w), 420 + 2 * (4 * 50 + 10) + 50 + 2 * 7);
  EXPECT_EQ(bytes_of_cycle(three, 7, AmgCycle::k), 420 + 2 * (4 * 50 + 10) + 2 * 50 + 2 * 7);
}

TEST(Multigrid, AMatrixThatIsNotSymmetricIsSolvedByItsCycles) {
  auto a = grid(30);
  std::vector<double> values(a.values.data, a.values.data + a.nnz());
  for (std::int64_t r = 0; r < a.rows;
       ++r)  // wind along the rows of the grid: entries to the left weigh more
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k) {
      if (a.indices.data[k] == r - 1) values[std::size_t(k)] -= 5;
      if (a.indices.data[k] == r) values[std::size_t(k)] += 5;
    }
  a.values = test::array_of(values);
  const auto n = static_cast<std::size_t>(a.rows);
  const std::vector<double> ones(n, 1.0);
  auto o = options(AmgCycle::v);
  EXPECT_THROW(build_hierarchy<double>(a, ones, 1, o), Error);
  o.symmetric = false, o.l1_jacobi = true;
  const auto h = build_hierarchy<double>(a, ones, 1, o);
  ASSERT_GE(h->levels.size(), 3u);
  const auto m = multigrid<double, double>(h, 1);
  std::vector<double> x(n), r(n, 1.0), z(n);
  const auto before = norm(r);
  for (int cycle = 0; cycle < 40; ++cycle) {
    m.apply(r, z);
    for (std::size_t i = 0; i < n; ++i) x[i] += z[i];
    const auto ax = times(a, x);
    for (std::size_t i = 0; i < n; ++i) r[i] = 1 - ax[i];
  }
  EXPECT_LT(norm(r), 1e-6 * before);
}

TEST(Multigrid, OtherValuesKeepTheAggregates) {
  const auto a = grid(40), b = grid(40, 4);
  const std::vector<double> ones(std::size_t(a.rows), 1.0);
  const auto o = options(AmgCycle::v);
  const auto first = build_hierarchy<double>(a, ones, 1, o);
  const auto second = build_hierarchy<double>(b, ones, 1, o, first.get());
  ASSERT_EQ(first->levels.size(), second->levels.size());
  EXPECT_EQ(first->levels[0].aggregates.of.data, second->levels[0].aggregates.of.data);
  EXPECT_GT(first->bytes(), first->levels[0].a.bytes());
  EXPECT_THROW(build_hierarchy<double>(grid(8, -1), std::vector<double>(64, 1.0), 1, o), Error);
}

}  // namespace
}  // namespace penstock
