#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
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

TEST(DeviceVectors, ReadsBInPlaceAndWritesXInPlace) {
  const std::int64_t n = 501;
  std::int64_t products = 0;
  const auto op = line(n, 2.5, &products);
  std::vector<double> b(n), x(n, 0.0), room(n + 2, -1.0), shifted(n + 1);
  for (std::int64_t i = 0; i < n; ++i) shifted[std::size_t(i) + 1] = b[std::size_t(i)] = std::sin(double(i));
  const SolveOptions options{.rtol = 1e-10, .starts_at_zero = true};
  ASSERT_TRUE(cg_gpu<double>(op, nullptr, b, x, options));
  // One of the two addresses is no multiple of 16 bytes: such a b is copied, such an x refused.
  const std::vector<const double*> places{b.data(), shifted.data() + 1};
  for (const double* from : places) {
    auto* to = room.data();
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0) ++to;
    const auto r = cg_on_device<double>(op, nullptr, {.b = from, .x = to}, options);
    EXPECT_EQ(r.stop, Stop::converged) << r.reason;
    EXPECT_EQ(std::vector<double>(to, to + n), x);
    EXPECT_THROW(cg_on_device<double>(op, nullptr, {.b = from, .x = to + 1}, options), Error);
  }
  b[17] = std::numeric_limits<double>::infinity();
  auto* to = reinterpret_cast<std::uintptr_t>(room.data()) % 16 == 0 ? room.data() : room.data() + 1;
  EXPECT_THROW(cg_on_device<double>(op, nullptr, {.b = b.data(), .x = to}, options), Error);
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
