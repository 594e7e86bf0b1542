#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/vectors/cg_passes.hpp"
#include "penstock/solver/krylov/cg_gpu.hpp"

// Vectors with a device, on the CPU as a device: the drivers and the passes that GPUs run.
namespace penstock {
namespace {

/// -1 d -1 along a line, counting its products.
DeviceOp<double> line(std::int64_t n, double d, std::int64_t* products) {
  DeviceOp<double> op{.rows = n, .cols = n};
  op.apply = [n, d, products](const double* x, double* y, Stream) {
    ++*products;
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = d * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0);
  };
  return op;
}

TEST(DeviceVectors, SumsDoNotDependOnThreads) {
  const std::int64_t n = 100'003;
  std::vector<double> x(n), y(n);
  for (std::int64_t i = 0; i < n; ++i)
    x[std::size_t(i)] = 1.0 / double(i + 1), y[std::size_t(i)] = std::sin(double(i));
  CgScalars own{.rz = 1, .alpha = 0, .beta = 0, .last = kNoLastIteration};
  CgNews news{};
  const Stream stream{};
  const SumParts parts(stream);
  const auto before = num_threads();
  std::vector<double> seen;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    sweep(n,
          CgCurvature<double>{
              .in = {x.data(), x.data()}, .out = {}, .own = &own, .news = &news, .iteration = 0},
          parts, stream);
    seen.push_back(own.alpha);
  }
  set_num_threads(before);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_NEAR(1 / seen[0], std::inner_product(x.begin(), x.end(), x.begin(), 0.0), 1e-12);
}

TEST(DeviceVectors, WhatFollowsTheLastIterationDoesNothing) {
  std::vector<double> x{1, 2}, p{3, 4}, r{5, 6};
  CgScalars own{.rz = 1, .alpha = 1, .beta = 1, .last = 6};
  const Stream stream{};
  const SumParts parts(stream);
  const auto advance = [&](std::int64_t iteration) {
    sweep(2,
          CgAdvance<double, false>{.in = {x.data(), p.data(), r.data()},
                                   .out = {x.data(), p.data()},
                                   .own = &own,
                                   .iteration = iteration},
          parts, stream);
  };
  advance(7);
  EXPECT_EQ(x, (std::vector<double>{1, 2}));
  EXPECT_EQ(p, (std::vector<double>{3, 4}));
  advance(6);
  EXPECT_EQ(x, (std::vector<double>{4, 6}));
  EXPECT_EQ(p, (std::vector<double>{8, 10}));
}

TEST(DeviceVectors, QueuesFewIterationsInVain) {
  const std::int64_t n = 500;
  std::int64_t products = 0;
  const auto op = line(n, 2.5, &products);
  std::vector<double> b(n, 1.0), x(n, 0.25), again(n, 0.25);
  const auto r = cg_gpu<double>(op, nullptr, b, x, {.rtol = 1e-10});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->stop, Stop::converged) << r->reason;
  EXPECT_GE(products, r->iterations + 2);  // the first residual, and the last
  EXPECT_LE(products, r->iterations + 2 + 8);
  const auto called = cg_gpu<double>(op, nullptr, b, again, {.rtol = 1e-10, .callback = [](auto, auto) {}});
  EXPECT_EQ(called->iterations, r->iterations);
  EXPECT_EQ(again, x);  // one at a time, or several ahead: the same bits
}

TEST(DeviceVectors, NeverMoreThanMaxIterations) {
  std::int64_t products = 0;
  const auto op = line(300, 2.0, &products);
  std::vector<double> b(300, 1.0), x(300, 0.0);
  const auto r = cg_gpu<double>(op, nullptr, b, x, {.max_iterations = 20, .starts_at_zero = true});
  EXPECT_EQ(r->stop, Stop::max_iterations);
  EXPECT_EQ(r->iterations, 20);
  EXPECT_EQ(products, 21);  // and the residual that is reported
}

TEST(DeviceVectors, ErrorsOfAProductEndTheSolve) {
  DeviceOp<double> op{.rows = 10, .cols = 10};
  op.apply = [](const double*, double*, Stream) { throw Error(Errc::cuda, "the link is down"); };
  std::vector<double> b(10, 1.0), x(10, 0.0);
  EXPECT_THROW(cg_gpu<double>(op, nullptr, b, x, {}), Error);
  op.cols = 9;
  EXPECT_THROW(cg_gpu<double>(op, nullptr, b, x, {}), Error);
}

}  // namespace
}  // namespace penstock
