#pragma once
#include <cstdint>

#include "penstock/semiring/semiring.hpp"

namespace penstock {

/// Reachability. Values are bytes 0 and 1: NumPy's bool, and a type that threads can write side by side.
struct OrAnd {
  using value_type = std::uint8_t;
  static constexpr SemiringInfo kInfo{"or_and", "logical_or", "logical_and", "reachability"};
  static constexpr value_type zero() { return 0; }
  static constexpr value_type one() { return 1; }
  static constexpr value_type add(value_type a, value_type b) { return a | b; }
  static constexpr value_type mul(value_type a, value_type b) { return a & b; }
};
static_assert(Semiring<OrAnd>);

}  // namespace penstock
