#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"

// Controls the steps of PageRank, wherever its vectors are: when it ends, when it extrapolates, and in which precision a phase
// is computed.
namespace penstock {

class RankControl {
 public:
  RankControl(const PageRankVectors& vectors, const PageRankOptions& options)
      : options_(options), uniform_(vectors.personalization.empty() && vectors.dangling.empty()) {}

  /// Begins a phase: steps in one precision, until the change is below `until`.
  void enter(double until) {
    until_ = until, omega_ = 1, steps_ = 0, slow_ = 0, done_ = false, best_ = kNone;
  }
  bool more() const { return !done_ && iterations_ < options_.max_iter; }
  /// The factor of the extrapolation in the next step; 1 for a plain step.
  double omega() {
    if (accelerating_ && steps_ > 0)
      omega_ = 1 / (1 - options_.alpha * options_.alpha * (omega_ > 1 ? omega_ / 4 : 0.5));
    return omega_;
  }
  /// Call it after a step, with the sum of all changes of ranks.
  void took(double change) {
    const double ratio = change / change_;
    change_ = change;
    done_ = change < until_;
    if (options_.symmetric && uniform_ && iterations_ >= kLook && ratio > rate() + kGain)
      accelerating_ = true;
    ++iterations_, ++steps_;
    // A plain step in exact numbers leaves at most alpha of the change. Where sums over hubs are rounded by more, float32 gets no
    // further: double has to.
    const bool better = change < best_ * (1 + options_.alpha) / 2;
    slow_ = better ? 0 : slow_ + 1;
    if (better) best_ = change;
    if (in_single_ && !done_ && slow_ >= kSlow) done_ = stalled_ = true;
  }
  std::int64_t steps() const { return steps_; }  // of this phase
  /// Whether steps in float32 alone reach such a tolerance, over a pattern.
  static bool is_single(double tol) { return tol >= kSingle; }

  /// Says whether ranks were below zero, which extrapolation may cause. They are set to zero, and another step is needed.
  void clipped(bool below) { clipped_ = below; }

  /// Calls run.operator()<T>(until) for each phase: steps in float32 if `pattern` (weights may leave its range), then in
  /// float64.
  template <class Run>
  void phases(bool pattern, bool has_start, Run&& run) {
    const bool precise = options_.tol < kSingle;
    // If a precise result is wanted and there is a good start, float32 would only make it worse.
    const bool single = pattern && !(precise && has_start);
    if (single) {
      in_single_ = true;
      run.template operator()<float>(std::max(kSingle, options_.tol));
      in_single_ = false;
    }
    if (!single || precise || clipped_ || stalled_) run.template operator()<double>(options_.tol);
  }
  PageRankResult result(Array<double> ranks) const {
    return {.ranks = std::move(ranks),
            .iterations = iterations_,
            .change = change_,
            .converged = change_ < options_.tol};
  }

 private:
  /// From this change on, steps are in float64. It is 30 times what rounding to float32 may add to a step on a graph with
  /// hubs.
  static constexpr double kSingle = 1e-5;
  static constexpr int kSlow = 8;           // steps in a row, of which extrapolation may take some
  static constexpr std::int64_t kLook = 2;  // steps before their rate is looked at
  // How much better acceleration must be. R-MAT graphs converge at a rate of 0.4 without it.
  static constexpr double kGain = 0.1;

  /// The rate of convergence of the Chebyshev iteration if eigenvalues are real and within alpha of 0.
  double rate() const {
    const double a = options_.alpha;
    return a > 0 ? (1 - std::sqrt(1 - a * a)) / a : 0;
  }

  PageRankOptions options_;
  bool uniform_;  // jumps and dangling vertices lead everywhere alike
  std::int64_t iterations_ = 0, steps_ = 0;
  double change_ = std::numeric_limits<double>::infinity(), until_ = 0, omega_ = 1;
  bool accelerating_ = false, clipped_ = false, done_ = false;
  bool in_single_ = false, stalled_ = false;
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double best_ = kNone;  // of the phase, or not much more
  int slow_ = 0;         // steps since then
};

inline void check_pagerank(std::int64_t rows, std::int64_t cols, std::int64_t out,
                           const PageRankVectors& vectors, const PageRankOptions& options) {
  require(rows == cols && out == rows, "pagerank needs a square matrix");
  require(options.alpha >= 0 && options.alpha <= 1, "pagerank: alpha must be between 0 and 1");
  for (const auto& v : {vectors.personalization, vectors.dangling, vectors.start})
    require(v.empty() || std::ssize(v) == rows, "pagerank: a vector has " + std::to_string(v.size()) +
                                                    " entries for " + std::to_string(rows) + " vertices");
}

}  // namespace penstock
