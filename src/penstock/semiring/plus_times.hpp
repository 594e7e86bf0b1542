#pragma once
#include "penstock/semiring/semiring.hpp"

namespace penstock {

/// Linear algebra: sums of products.
template <class T>
struct PlusTimes {
  using value_type = T;
  static constexpr SemiringInfo kInfo{"plus_times", "add", "multiply", "sums of products"};
  static constexpr T zero() { return T(0); }
  static constexpr T one() { return T(1); }
  static constexpr T add(T a, T b) { return a + b; }
  static constexpr T mul(T a, T b) { return a * b; }
};
static_assert(Semiring<PlusTimes<double>>);

}  // namespace penstock
