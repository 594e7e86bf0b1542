#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "penstock/core/error.hpp"
#include "penstock/solver/matrix_op.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"
#include "penstock/solver/solve.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// -1 2.005.. -1 along a line.
Csr<double> line_of_states(std::int64_t n) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    for (const auto j : {i - 1, i, i + 1})
      if (j >= 0 && j < n) {
        indices.push_back(static_cast<Index>(j));
        values.push_back(i == j ? 2.005 + static_cast<double>(i % 5) * 0.01 : -1);
      }
    indptr.push_back(std::ssize(indices));
  }
  auto a = test::matrix_of<double>(n, indptr);
  a.indices = test::array_of(indices);
  a.values = test::array_of(values);
  return a;
}

/// A state as it would lie in a file.
struct Kept {
  SolveState state;
  std::vector<std::vector<std::byte>> bytes;
};

SolveOptions keeping(std::vector<Kept>& into, std::int64_t every) {
  SolveOptions o{.rtol = 1e-9, .restart = 7};
  o.checkpoints.every = every;
  o.checkpoints.load = [](SolveState&) { return false; };
  o.checkpoints.save = [&](const SolveState& s) {
    Kept kept{s, {}};
    for (const auto v : s.vectors) kept.bytes.emplace_back(v.begin(), v.end());
    into.push_back(std::move(kept));
  };
  return o;
}

SolveOptions from(const Kept& kept) {
  SolveOptions o{.rtol = 1e-9, .restart = 7};
  o.checkpoints.every = 1'000'000;
  o.checkpoints.save = [](const SolveState&) {};
  o.checkpoints.load = [&](SolveState& s) {
    require(s.vectors.size() == kept.bytes.size(), "another number of vectors");
    for (std::size_t i = 0; i < s.vectors.size(); ++i)
      std::copy(kept.bytes[i].begin(), kept.bytes[i].end(), s.vectors[i].begin());
    s.iterations = kept.state.iterations, s.residuals = kept.state.residuals, s.scalars = kept.state.scalars;
    return true;
  };
  return o;
}

using ResumedMethod = SolveResult (*)(const LinearOp<double>&, const LinearOp<double>*,
                                      std::span<const double>, std::span<double>, const SolveOptions&,
                                      const Space&);
constexpr ResumedMethod kResumedMethods[] = {cg<double>, pipelined_cg<double>, bicgstab<double>,
                                             gmres<double>};

TEST(SolverState, EveryMethodGoesOnToTheSameBits) {
  const std::int64_t n = 3000;
  const auto a = line_of_states(n);
  const auto op = matrix_op<double, double>(a, std::make_shared<SpmvPlans<double>>(), InCore{});
  const auto general = ilu0<double, double>(a, {.shift = 0.5, .blocks = 50}),
             diagonal = jacobi<double, double>(a);
  std::vector<double> b(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 17) - 8;
  for (const auto method : kResumedMethods)
    for (const auto* m : {static_cast<const LinearOp<double>*>(nullptr), &general, &diagonal}) {
      std::vector<Kept> kept;
      std::vector<double> x(b.size());
      const auto whole = method(op, m, b, x, keeping(kept, 4), {});
      ASSERT_EQ(whole.stop, Stop::converged) << whole.reason;
      ASSERT_GE(kept.size(), 2u);
      for (const auto* state : {&kept.front(), &kept.back()}) {
        ASSERT_LT(state->state.iterations, whole.iterations);
        std::vector<double> y(b.size(), 1e9);
        const auto rest = method(op, m, b, y, from(*state), {});
        EXPECT_EQ(rest.iterations, whole.iterations);
        EXPECT_EQ(rest.residuals, whole.residuals);
        EXPECT_EQ(0, std::memcmp(x.data(), y.data(), x.size() * sizeof(double)));
      }
    }
}

TEST(SolverState, IsKeptWhenIterationsRunOut) {
  const auto a = line_of_states(500);
  const auto op = matrix_op<double, double>(a, std::make_shared<SpmvPlans<double>>(), InCore{});
  const std::vector<double> b(500, 1.0);
  for (const auto method : kResumedMethods) {
    std::vector<Kept> kept;
    std::vector<double> x(b.size());
    auto o = keeping(kept, 1'000'000);
    o.max_iterations = 9;
    EXPECT_EQ(method(op, nullptr, b, x, o, {}).stop, Stop::max_iterations);
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].state.iterations, 9);
    std::vector<double> y(b.size()), z(b.size());
    const auto rest = method(op, nullptr, b, y, from(kept[0]), {});
    EXPECT_EQ(rest.stop, Stop::converged) << rest.reason;
    EXPECT_GT(rest.iterations, 9);
  }
}

TEST(SolverState, OfAnotherMIsReadForItsXAlone) {
  const auto a = line_of_states(800);
  const auto op = matrix_op<double, double>(a, std::make_shared<SpmvPlans<double>>(), InCore{});
  const auto before = ilu0<double, double>(a, {.shift = 0.5, .blocks = 50}),
             now = ilu0<double, double>(a, {.shift = 0.5, .blocks = 7});
  const std::vector<double> b(800, 1.0);
  for (const auto method : kResumedMethods) {
    std::vector<Kept> kept;
    std::vector<double> x(b.size()), y(b.size()), z(b.size());
    auto o = keeping(kept, 1'000'000);
    o.max_iterations = 8;
    method(op, &before, b, x, o, {});
    ASSERT_EQ(kept.size(), 1u);
    auto& state = kept[0];
    for (std::size_t i = 1; i < state.bytes.size(); ++i)  // all ones: NaN
      std::ranges::fill(state.bytes[i], std::byte{0xff});
    auto go_on = from(state);
    go_on.starts_at_zero = true;  // as the caller says, who has no x
    go_on.checkpoints.load = [load = go_on.checkpoints.load](SolveState& s) {
      return s.anew = true, load(s);
    };
    const auto rest = method(op, &now, b, y, go_on, {});
    EXPECT_EQ(rest.stop, Stop::converged) << rest.reason;
    EXPECT_EQ(std::ssize(rest.residuals), rest.iterations + 1);
    EXPECT_TRUE(
        std::equal(state.state.residuals.begin(), state.state.residuals.end() - 1, rest.residuals.begin()));
    const auto alone = method(op, &now, b, z, {.rtol = 1e-9, .restart = 7}, {});
    EXPECT_GT(rest.iterations, 8);
    // BiCGSTAB's residuals do not fall evenly: the last steps depend on rounding.
    EXPECT_LE(rest.iterations, 8 + alone.iterations + alone.iterations / 4);
  }
}

TEST(SolverState, OfAnotherMethodIsRefused) {
  const auto a = line_of_states(100);
  const auto op = matrix_op<double, double>(a, std::make_shared<SpmvPlans<double>>(), InCore{});
  const std::vector<double> b(100, 1.0);
  std::vector<double> x(b.size());
  SolveOptions o;
  o.checkpoints.every = 1;
  o.checkpoints.save = [](const SolveState&) {};
  o.checkpoints.load = [](SolveState& s) {
    s.scalars.assign(17, 0.0), s.residuals = {1};
    return true;
  };
  EXPECT_THROW(cg<double>(op, nullptr, b, x, o), Error);
  EXPECT_THROW(cg_many<double>(op, nullptr, b, x, 1, o), Error);
}

}  // namespace
}  // namespace penstock
