#pragma once
#include <concepts>

namespace penstock {

/// (add, zero) is a commutative monoid, (mul, one) a monoid, and zero annihilates. `mul` combines an entry of A with
/// an entry of x.
template <class S>
concept Semiring = requires(typename S::value_type a, typename S::value_type b) {
  { S::zero() } -> std::same_as<typename S::value_type>;
  { S::one() } -> std::same_as<typename S::value_type>;
  { S::add(a, b) } -> std::same_as<typename S::value_type>;
  { S::mul(a, b) } -> std::same_as<typename S::value_type>;
};

}  // namespace penstock
