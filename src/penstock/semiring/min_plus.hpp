#pragma once
#include <limits>

#include "penstock/semiring/semiring.hpp"

namespace penstock {

/// Shortest paths: zero is infinity, an absent edge; a product is a path's length.
template <class T>
struct MinPlus {
  using value_type = T;
  static constexpr SemiringInfo kInfo{"min_plus", "minimum", "add", "lengths of shortest paths"};
  static constexpr T zero() { return std::numeric_limits<T>::infinity(); }
  static constexpr T one() { return T(0); }
  static constexpr T add(T a, T b) { return b < a ? b : a; }
  static constexpr T mul(T a, T b) { return a + b; }
};
static_assert(Semiring<MinPlus<float>>);

}  // namespace penstock
