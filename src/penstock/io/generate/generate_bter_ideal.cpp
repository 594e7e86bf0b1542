// The ideal degree and clustering profiles for benchmark graphs (Kolda et al. 2014, section 5). Each free
// parameter is a root of a monotone function, so both are found by bracketing: no start value, no tolerance
// to tune.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/generate_bter.hpp"
#include "penstock/io/generate/generate_check.hpp"

namespace penstock {
namespace {

/// A zero of the monotone f in [low, high], by false position; the value at an end that stays is halved (Illinois method).
template <class F>
double root(F&& f, double low, double high) {
  double at_low = f(low), at_high = f(high);
  for (int i = 0, side = 0; i < 80 && std::abs(high - low) > 1e-9 * (1 + std::abs(low)); ++i) {
    const double x = i % 8 == 7 ? (low + high) / 2 : (low * at_high - high * at_low) / (at_high - at_low);
    const double y = f(x);
    if (y == 0) return x;
    if ((y > 0) == (at_high > 0)) {
      high = x, at_high = y;
      if (std::exchange(side, 1) == 1) at_low /= 2;
    } else {
      low = x, at_low = y;
      if (std::exchange(side, -1) == -1) at_high /= 2;
    }
    poll_interrupt();
  }
  return std::abs(at_low) < std::abs(at_high) ? low : high;
}

/// P(d) ~ exp(-(log d / alpha)^delta), unnormalised, from log(log d).
class LogNormal {
 public:
  explicit LogNormal(std::int64_t max_degree) : log_log_(static_cast<std::size_t>(max_degree) + 1) {
    for (std::size_t d = 2; d < log_log_.size(); ++d)
      log_log_[d] = std::log(std::log(static_cast<double>(d)));
  }
  double weight(std::size_t d, double log_alpha, double delta) const {
    return d == 1 ? 1 : std::exp(-std::exp(delta * (log_log_[d] - log_alpha)));
  }
  double mean(double log_alpha, double delta) const {
    double sum = 0, ends = 0;
    for (std::size_t d = 1; d < log_log_.size(); ++d) {
      const auto w = weight(d, log_alpha, delta);
      sum += w, ends += w * static_cast<double>(d);
    }
    return ends / sum;
  }
  double fit_alpha(double delta, double average) const {
    return root([&](double x) { return std::log(mean(x, delta) / average); }, std::log(1e-3), std::log(1e3));
  }
  double log_tail(double log_alpha, double delta) const {  // log P(max_degree)
    double sum = 0;
    for (std::size_t d = 1; d < log_log_.size(); ++d) sum += weight(d, log_alpha, delta);
    return -std::exp(delta * (log_log_.back() - log_alpha)) - std::log(sum);
  }

 private:
  std::vector<double> log_log_;
};

}  // namespace

std::vector<std::int64_t> ideal_degrees(std::int64_t vertices, double average, std::int64_t max_degree) {
  require_extent("vertices", vertices);
  require_between("max_degree", static_cast<double>(max_degree), 2, static_cast<double>(vertices - 1),
                  "a vertex has at most all others as neighbours");
  require(average > 1 && average * 3 <= static_cast<double>(max_degree),
          "an average degree of " + std::to_string(average) +
              " does not lie between 1 and a third of max_degree = " + std::to_string(max_degree) +
              ": raise max_degree or change the edge factor");
  const LogNormal shape(max_degree);
  const auto wanted = std::log(1e-3 / static_cast<double>(vertices));
  // By how much the tail is too heavy. It falls as delta grows, and is bounded for the sake of false position.
  const auto excess = [&](double delta) {
    return std::max(-100.0, shape.log_tail(shape.fit_alpha(delta, average), delta) - wanted);
  };
  constexpr double kLow = 0.5, kHigh = 64;
  const double delta = excess(kLow) <= 0 ? kLow : root(excess, kLow, kHigh);
  const double log_alpha = shape.fit_alpha(delta, average);

  std::vector<std::int64_t> counts(static_cast<std::size_t>(max_degree) + 1);
  double sum = 0, below = 0;
  for (std::size_t d = 1; d < counts.size(); ++d) sum += shape.weight(d, log_alpha, delta);
  std::int64_t given = 0;
  for (std::size_t d = 1; d < counts.size(); ++d) {
    below += shape.weight(d, log_alpha, delta) / sum;
    const auto upto = std::min<std::int64_t>(vertices, std::llround(below * static_cast<double>(vertices)));
    counts[d] = upto - std::exchange(given, upto);
  }
  counts[1] += vertices - given;
  while (counts.back() == 0) counts.pop_back();
  return counts;
}

std::vector<double> ideal_clustering(std::span<const std::int64_t> degrees, double max_clustering,
                                     double global) {
  require_between("max_clustering", max_clustering, 0, 1, "it is a share of closed wedges");
  require_between("clustering", global, 0, max_clustering, "the mean cannot exceed max_clustering");
  const auto mean = [&](double xi) {
    double wedges = 0, closed = 0;
    for (std::size_t d = 2; d < degrees.size(); ++d) {
      const auto here =
          static_cast<double>(degrees[d]) * static_cast<double>(d) * static_cast<double>(d - 1) / 2;
      wedges += here;
      closed += here * max_clustering * std::exp(-xi * static_cast<double>(d - 2));
    }
    return wedges > 0 ? closed / wedges : 0;
  };
  std::vector<double> c(degrees.size());
  if (global == 0 || max_clustering == 0) return c;
  const auto log_xi =
      root([&](double x) { return mean(std::exp(x)) - global; }, std::log(1e-12), std::log(1e2));
  for (std::size_t d = 2; d < c.size(); ++d)
    c[d] = max_clustering * std::exp(-std::exp(log_xi) * static_cast<double>(d - 2));
  return c;
}

}  // namespace penstock
