#pragma once
#include "penstock/semiring/semiring.hpp"

namespace penstock {

/// Most probable paths over values >= 0: zero is 0, as in (max, x) on the non-negative reals. Negative entries are
/// outside the semiring: a row with negative entries alone gives 0.
template <class T>
struct MaxTimes {
  using value_type = T;
  static constexpr SemiringInfo kInfo{"max_times", "maximum", "multiply", "most probable paths"};
  static constexpr T zero() { return T(0); }
  static constexpr T one() { return T(1); }
  static constexpr T add(T a, T b) { return a < b ? b : a; }
  static constexpr T mul(T a, T b) { return a * b; }
};
static_assert(Semiring<MaxTimes<double>>);

}  // namespace penstock
