#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/solver/solve.hpp"
#include "penstock/solver/vectors.hpp"

namespace penstock {

/// What the methods share: the target, the history, the reasons, and the check that the recurrence's residual is the
/// true one.
template <class T>
class Progress {
 public:
  Progress(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
           const SolveOptions& o, const Space& space)
      : a_(a), b_(b), x_(x), o_(o), space_(space), sweep(sizeof(T)) {
    require(std::ssize(b) == a.rows && b.size() == x.size(), "solve: b and x need the rows of A");
    require(!m || m->rows == a.rows,
            "solve: M has " + std::to_string(m ? m->rows : 0) + " rows, A has " + std::to_string(a.rows));
    std::array<double, 1> bb;
    sweep(std::ssize(b), 1, bb,
          [&](std::int64_t f, std::int64_t n, double* s) { s[0] += dot(b_.data() + f, b_.data() + f, n); });
    // Squares below 1e-308 vanish, and a residual of nothing would pass for a solution.
    const bool tiny = bb[0] < kLeastSquares && std::any_of(b.begin(), b.end(), [](T v) { return v != 0; });
    std::array<double, 2> sums{bb[0], tiny ? 1.0 : 0.0};
    space.sum(sums);
    result_.target = std::max(o.rtol * std::sqrt(sums[0]), o.atol);
    if (!std::isfinite(sums[0]) || (sums[1] > 0 && sums[0] < kLeastSquares)) not_finite();
  }

  double target() const { return result_.target; }

  /// r = b - A x; its norm.
  double residual(std::span<T> r, bool x_is_zero = false) {
    std::array<double, 1> rr;
    if (!x_is_zero) a_.apply(x_, r), sweep.count(a_.rows, 2);
    sweep(a_.rows, x_is_zero ? 2 : 3, rr, [&](std::int64_t f, std::int64_t n, double* s) {
      const T* __restrict from = b_.data() + f;
      T* __restrict to = r.data() + f;
      if (x_is_zero) std::copy_n(from, n, to);
      else
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[i] - to[i];
      s[0] += dot(to, to, n);
    });
    space_.sum(rr);
    return std::sqrt(rr[0]);
  }

  /// The norm of the first residual. The solve may end here.
  void start(double norm) {
    result_.residuals.assign(1, norm), result_.residual = norm;
    if (ended_) return;
    if (!std::isfinite(norm)) not_finite();
    else if (small(norm)) end(Stop::converged, "converged");
  }
  /// After an iteration, with x current.
  void step(double norm) {
    poll_interrupt();
    result_.residuals.push_back(norm), result_.residual = norm;
    ++result_.iterations;
    if (o_.callback) o_.callback(result_.iterations, norm);
  }
  /// x is current where it was not: for callbacks that want it (iteration 0 marks them).
  void cycle() {
    if (o_.callback) o_.callback(0, result_.residual);
  }
  /// The residual as it truly is, in place of the recurrence's.
  void correct(double norm) { result_.residuals.back() = result_.residual = norm; }
  double norm() const { return result_.residual; }
  bool small(double norm) const { return norm <= result_.target; }
  bool more() const { return result_.iterations < o_.max_iterations; }
  bool calls_back() const { return static_cast<bool>(o_.callback); }

  /// The recurrence says that it is done. True: it is, or nothing more can be had, and the solve ends. False: the method
  /// starts anew from `r`, which now holds b - A x.
  bool verified(std::span<T> r) {
    const auto norm = residual(r);
    result_.residuals.back() = result_.residual = norm;
    if (small(norm)) return end(Stop::converged, "converged"), true;
    // Rounding: what the recurrence lost is bounded by the largest x on the way. A restart regains some of it.
    stale_ = norm < 0.5 * last_check_ ? 0 : stale_ + 1;
    last_check_ = std::min(last_check_, norm);
    if (stale_ < 3) return false;
    end(Stop::stagnated, "stagnated: the recurrence reached the tolerance, b - A x stays at " + number(norm) +
                             ", above " + number(target()) +
                             ": rounding allows no more; a larger rtol, float64 or a preconditioner helps");
    return true;
  }

  void end(Stop stop, std::string reason) {
    result_.stop = stop, result_.reason = std::move(reason), ended_ = true;
  }
  bool ended() const { return ended_; }

  // Breakdowns that several methods share.
  void not_positive(double pap) {
    end(Stop::not_positive, "breakdown: p.Ap = " + number(pap) +
                                " <= 0: the matrix is not positive definite; use bicgstab or gmres");
  }
  void bad_preconditioner(double rmr) {
    end(Stop::bad_preconditioner,
        "breakdown: r.Mr = " + number(rmr) + " <= 0: the preconditioner is not positive definite");
  }
  void not_finite() {
    end(Stop::not_finite,
        "breakdown: an inner product is not a finite number, or b's vanishes: the matrix, M or b exceed the "
        "range of " +
            std::string(sizeof(T) == 4 ? "float32; use float64" : "float64; scale them"));
  }

  /// The residual that is reported is the true one: `r` is overwritten. A method that broke down may have reached the
  /// target before.
  SolveResult finish(std::span<T> r) {
    if (!ended_)
      end(Stop::max_iterations, "maxiter: " + std::to_string(result_.iterations) +
                                    " iterations left the residual at " + number(result_.residual) +
                                    ", above " + number(target()));
    if (result_.stop != Stop::converged && result_.stop != Stop::stagnated) {
      const auto norm = residual(r);
      if (small(norm) && result_.stop != Stop::not_finite) end(Stop::converged, "converged");
      result_.residual = norm;
    }
    result_.vector_bytes = sweep.bytes();
    result_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return std::move(result_);
  }

  static std::string number(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", v);
    return text;
  }

 private:
  static constexpr double kLeastSquares = 1e-290;
  using Clock = std::chrono::steady_clock;
  const LinearOp<T>& a_;
  std::span<const T> b_;
  std::span<T> x_;
  const SolveOptions& o_;
  const Space& space_;
  SolveResult result_;
  bool ended_ = false;
  int stale_ = 0;
  double last_check_ = std::numeric_limits<double>::infinity();
  Clock::time_point begin_ = Clock::now();

 public:
  Sweeper sweep;
};

}  // namespace penstock
