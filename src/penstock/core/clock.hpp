#pragma once
#include <algorithm>
#include <chrono>
#include <iterator>
#include <vector>

namespace penstock {

using Clock = std::chrono::steady_clock;

/// Seconds since `begin`.
inline double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Seconds of a clock that never goes back.
inline double now() { return since(Clock::time_point()); }

/// The middle one of at least one number.
inline double median(std::vector<double> v) {
  const auto middle = v.begin() + std::ssize(v) / 2;
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace penstock
