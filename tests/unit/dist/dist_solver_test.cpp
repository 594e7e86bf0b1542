#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "penstock/comm/threads.hpp"
#include "penstock/core/error.hpp"
#include "penstock/solver/dist_op.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"
#include "penstock/solver/precondition/schwarz.hpp"
#include "penstock/solver/solve.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// A 5-point stencil on a square, and b of the same grid.
constexpr std::int64_t kSide = 12, kRows = kSide * kSide;

/// Rows [first, last), with the columns of the whole matrix.
Csr<double> stencil(std::int64_t first, std::int64_t last) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values;
  for (auto i = first; i < last; ++i) {
    const auto x = i % kSide, y = i / kSide;
    const auto add = [&](std::int64_t column, double v, bool there) {
      if (there) indices.push_back(static_cast<Index>(column)), values.push_back(v);
    };
    add(i - kSide, -1, y > 0);
    add(i - 1, -1, x > 0);
    add(i, 4.1, true);
    add(i + 1, -1, x + 1 < kSide);
    add(i + kSide, -1, y + 1 < kSide);
    indptr.push_back(std::ssize(indices));
  }
  Csr<double> a;
  a.rows = last - first, a.cols = kRows;
  a.indptr = test::array_of(indptr), a.indices = test::array_of(indices), a.values = test::array_of(values);
  return a;
}

double rhs(std::int64_t i) { return static_cast<double>(i * 7 % 11) - 5; }

/// f(rank's product) on so many threads; the first exception is thrown again.
void on_rank_products(int ranks, const std::function<void(std::shared_ptr<DistProduct<double>>)>& f) {
  auto comms = threads(ranks, {.timeout = 60});
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> all;
  for (int r = 0; r < ranks; ++r)
    all.emplace_back([&, comm = std::shared_ptr<Comm>(std::move(comms[static_cast<std::size_t>(r)])), r] {
      try {
        std::vector<GlobalIndex> starts{0};
        for (int i = 1; i <= ranks; ++i) starts.push_back(kRows * i / ranks);
        const auto owners = std::make_shared<const Ownership>(Ownership::ranges(starts));
        const auto first = starts[static_cast<std::size_t>(r)],
                   last = starts[static_cast<std::size_t>(r) + 1];
        Share<double> share;
        share.first_row = first, share.entries = stencil(first, last);
        f(std::make_shared<DistProduct<double>>(distribute(comm, owners, owners, share),
                                                DistProductOptions{.halo = "isend"}));
      } catch (const std::exception& e) {
        errors[static_cast<std::size_t>(r)] = std::current_exception();
        comm->fail(e.what());
      }
    });
  for (auto& t : all) t.join();
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
}

using RankMethod = SolveResult (*)(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>,
                                   std::span<double>, const SolveOptions&, const Space&);
constexpr RankMethod kRankMethods[] = {cg<double>, pipelined_cg<double>, bicgstab<double>, gmres<double>};

TEST(DistSolver, ConvergesAsOneRankDoes) {
  std::vector<double> b(kRows);
  for (std::int64_t i = 0; i < kRows; ++i) b[static_cast<std::size_t>(i)] = rhs(i);
  for (const auto method : kRankMethods) {
    std::vector<double> whole(kRows);
    std::int64_t iterations = 0;
    on_rank_products(1, [&](auto a) {
      iterations = method(dist_op<double, double>(a), nullptr, b, whole, {.rtol = 1e-9}, {}).iterations;
    });
    for (const int ranks : {2, 3, 5})
      on_rank_products(ranks, [&](auto a) {
        const auto op = dist_op<double, double>(a);
        const auto rank = a->matrix().comm->rank();
        const auto first = a->matrix().row_owners->global(rank, 0);
        std::vector<double> x(static_cast<std::size_t>(op.rows));
        const auto r = method(op, nullptr, {b.data() + first, x.size()}, x, {.rtol = 1e-9},
                              space_of(a->matrix().comm, kRows));
        EXPECT_EQ(r.stop, Stop::converged) << r.reason;
        EXPECT_NEAR(static_cast<double>(r.iterations), static_cast<double>(iterations), 1);
        for (std::size_t i = 0; i < x.size(); ++i)
          EXPECT_NEAR(x[i], whole[static_cast<std::size_t>(first) + i], 1e-7);
      });
  }
}

TEST(DistSolver, PreconditionersOfRanks) {
  for (const auto how : {Combine::restricted, Combine::weighted})
    on_rank_products(4, [&](auto a) {
      const auto op = dist_op<double, double>(a);
      const auto overlap = overlap_of(*a);
      EXPECT_EQ(overlap.matrix.rows, a->matrix().rows() + a->matrix().plan->ghosts());
      EXPECT_TRUE(std::is_sorted(overlap.row_ids.begin(), overlap.row_ids.end()));
      const auto m = additive_schwarz<double, double>(a, overlap, ic0<double, double>(overlap.matrix), how);
      const auto block = ic0<double, double>(diagonal_block(*a));
      const auto method = how == Combine::restricted ? gmres<double> : cg<double>;
      std::vector<double> b(static_cast<std::size_t>(op.rows));
      for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = rhs(a->matrix().row_owners->global(a->matrix().comm->rank(), static_cast<std::int64_t>(i)));
      std::int64_t iterations[2];
      for (const auto* pre : {&m, &block}) {
        std::vector<double> x(b.size());
        const auto r =
            method(op, pre, b, x, {.rtol = 1e-9}, space_of(a->matrix().comm, a->matrix().all_rows()));
        EXPECT_EQ(r.stop, Stop::converged) << r.reason;
        iterations[pre == &block] = r.iterations;
      }
      EXPECT_LE(iterations[0], iterations[1]);
      for (const double d : diagonal_of(*a)) EXPECT_EQ(d, 4.1);
    });
}

TEST(DistSolver, SeveralColumnsShareAnExchange) {
  on_rank_products(3, [&](auto a) {
    const auto op = dist_op<double, double>(a);
    const auto n = static_cast<std::size_t>(op.rows);
    std::vector<double> x(2 * n), y(2 * n), one(n);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 13);
    op.apply_many(x, y, 2);
    for (std::size_t j = 0; j < 2; ++j) {
      op.apply({x.data() + j * n, n}, one);
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(one[i], y[j * n + i], 1e-12);
    }
  });
}

}  // namespace
}  // namespace penstock
