#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/solver/solve.hpp"

namespace penstock {

/// What all methods share, wherever their vectors are: the target, the history, the reasons, and when a recurrence that no
/// longer agrees with b - A x is given up.
class Outcome {
 public:
  /// `entry_bytes` are the bytes of an entry of a vector; of one part where entries are complex.
  Outcome(const SolveOptions& o, std::size_t entry_bytes) : o_(o), entry_bytes_(entry_bytes) {}

  /// Sets the target from b . b. `tiny` says that b has entries that are not zero although b . b vanishes.
  void aim(double bb, bool tiny) {
    result_.target = std::max(o_.rtol * std::sqrt(bb), o_.atol);
    if (!std::isfinite(bb) || (tiny && bb < kLeastSquares)) not_finite();
  }
  /// Squares below 1e-308 become 0, and then a residual that is not 0 would pass for a solution.
  static constexpr double kLeastSquares = 1e-290;
  /// A beginning makes progress where it reduces norm(b - A x) to less than this part of it. After so many beginnings in a
  /// row without progress a solve stops: more of them cost time, fewer may stop one that would still get further.
  static constexpr double kProgress = 0.5;
  static constexpr int kStaleBeginnings = 3;

  double target() const { return result_.target; }

  /// The norm of the first residual, or of b - A x where a state was read for its x alone. The solve may end here.
  void start(double norm) {
    if (anew_) correct(norm);
    else result_.residuals.assign(1, norm), result_.residual = norm;
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
  /// Whether a state should be kept now.
  bool saves() const {
    const auto done = result_.iterations - saved_;
    return o_.checkpoints.every > 0 && !ended_ && done > 0 && (done >= o_.checkpoints.every || !more());
  }
  /// Adds what is known here to a method's state, and hands it to the caller's function that keeps it.
  void save(SolveState state) {
    state.iterations = saved_ = result_.iterations;
    state.residuals = result_.residuals;
    state.scalars.insert(state.scalars.end(), {static_cast<double>(stale_), last_check_});
    o_.checkpoints.save(state);
  }
  /// The reverse; false where there is none, or where anew() says that of the vectors x alone counts. A method's own scalars
  /// are then in state.scalars.
  bool load(SolveState& state) {
    if (ended_ || !o_.checkpoints.load) return false;
    const auto own = state.scalars.size();
    if (!o_.checkpoints.load(state)) return false;
    require(state.scalars.size() == own + 2 && std::ssize(state.residuals) == state.iterations + 1,
            "the state to go on from is not one of this method: " + std::to_string(state.scalars.size()) +
                " scalars, not " + std::to_string(own + 2) + ", or a residual missing");
    result_.iterations = saved_ = state.iterations;
    result_.residuals = state.residuals, result_.residual = state.residuals.back();
    if (state.anew) return anew_ = true, false;
    stale_ = static_cast<int>(state.scalars[own]), last_check_ = state.scalars[own + 1];
    return true;
  }
  bool anew() const { return anew_; }
  /// Tells that x is current after a time in which it was not, for callbacks that need it (iteration 0 marks them).
  void cycle() {
    if (o_.callback) o_.callback(0, result_.residual);
  }
  /// Replaces the residual of the recurrence by the true one.
  void correct(double norm) { result_.residuals.back() = result_.residual = norm; }
  double norm() const { return result_.residual; }
  bool small(double norm) const { return norm <= result_.target; }
  std::int64_t left() const { return o_.max_iterations - result_.iterations; }
  bool more() const { return left() > 0; }
  bool calls_back() const { return static_cast<bool>(o_.callback); }

  /// For when the recurrence says that it is done, and b - A x has this norm. True: the solve ends, because it is done or no more
  /// progress is possible. False: the method starts again from b - A x.
  bool settles(double norm) {
    correct(norm);
    if (small(norm)) return end(Stop::converged, "converged"), true;
    // What the recurrence has lost by rounding is bounded by the largest x on the way. A new beginning regains some of it.
    stale_ = norm < kProgress * last_check_ ? 0 : stale_ + 1;
    last_check_ = std::min(last_check_, norm);
    if (stale_ < kStaleBeginnings) return false;
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
            std::string(entry_bytes_ == 4 ? "float32; use float64" : "float64; scale them"));
  }

  /// The result. The residual that it reports is the true one: residual() gives norm(b - A x) and is called where the last
  /// one may be a recurrence's. A method that broke down may have reached the target before.
  template <class Residual>
  SolveResult close(Residual&& residual) {
    if (!ended_)
      end(Stop::max_iterations, "maxiter: " + std::to_string(result_.iterations) +
                                    " iterations left the residual at " + number(result_.residual) +
                                    ", above " + number(target()) +
                                    ": allow more, or give a better preconditioner M");
    if (result_.stop != Stop::converged && result_.stop != Stop::stagnated) {
      const double norm = residual();
      if (small(norm) && result_.stop != Stop::not_finite) end(Stop::converged, "converged");
      result_.residual = norm;
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return std::move(result_);
  }

  static std::string number(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", v);
    return text;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const SolveOptions& o_;
  std::size_t entry_bytes_;
  SolveResult result_;
  bool ended_ = false, anew_ = false;
  int stale_ = 0;
  std::int64_t saved_ = 0;  // iterations at the last save
  double last_check_ = std::numeric_limits<double>::infinity();
  Clock::time_point begin_ = Clock::now();
};

}  // namespace penstock
