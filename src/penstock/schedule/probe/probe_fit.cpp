// A link's latency and bandwidth from measured transfers: a line through their times. A few turns that something has
// disturbed must not move it, so points far off the line are given less weight, and the line is found again (Huber).
#include <algorithm>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/schedule/probe/probe.hpp"

namespace penstock {
namespace {

constexpr double kFar = 0.1;  // a time that is this part of itself off the line begins to lose weight
constexpr int kRounds = 50;   // of weighing and solving, at most
// The rounds end when they change the time of the largest transfer and the latency by less than these parts.
constexpr double kSettledTime = 1e-9, kSettledLatency = 1e-6;
// Relative to its terms, a determinant this small means that all points have one size.
constexpr double kOneSize = 1e-12;

struct Line {
  double latency = 0, per_byte = 0;
  double at(double bytes) const { return latency + per_byte * bytes; }
};

/// Weighted least squares of the relative residual line(n) / t - 1; the latency is at least 0.
Line solve(std::span<const RatePoint> points, std::span<const double> weights) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;  // u = 1 / t, v = n / t
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto n = static_cast<double>(points[i].bytes);
    const double u = points[i].rate / n, v = points[i].rate, w = weights[i];
    uu += w * u * u, uv += w * u * v, vv += w * v * v, u1 += w * u, v1 += w * v;
  }
  const Line no_latency{0, v1 / vv};
  const double det = uu * vv - uv * uv;
  if (det <= kOneSize * uu * vv) return no_latency;
  const Line line{(u1 * vv - v1 * uv) / det, (v1 * uu - u1 * uv) / det};
  return line.latency < 0 || line.per_byte <= 0 ? no_latency : line;
}

}  // namespace

LinkFit fit_link(std::span<const RatePoint> points) {
  require(!points.empty(), "fit_link: there are no points");
  for (const auto& p : points)
    require(p.bytes > 0 && p.rate > 0 && std::isfinite(p.rate), "fit_link: bytes and rates must be positive");
  std::vector<double> weights(points.size(), 1.0);
  Line line = solve(points, weights);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto n = static_cast<double>(points[i].bytes);
      const double off = std::abs(line.at(n) * points[i].rate / n - 1);
      weights[i] = off > kFar ? kFar / off : 1;
    }
    const auto before = line;
    line = solve(points, weights);
    const auto n = static_cast<double>(points.back().bytes);
    if (std::abs(line.at(n) - before.at(n)) <= kSettledTime * before.at(n) &&
        std::abs(line.latency - before.latency) <= kSettledLatency * before.latency)
      break;
  }
  return {line.latency, 1 / line.per_byte};
}

}  // namespace penstock
