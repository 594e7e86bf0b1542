#pragma once
#include <concepts>
#include <string_view>

namespace penstock {

/// What Python, messages and help texts say of a semiring. `add` and `mul` are the names of NumPy's functions that compute
/// the same: checks of results call these.
struct SemiringInfo {
  std::string_view name, add, mul, text;
};

/// (add, zero) is a commutative monoid, (mul, one) a monoid, and zero annihilates. `mul` combines an entry of A with
/// an entry of x.
template <class S>
concept Semiring = requires(typename S::value_type a, typename S::value_type b) {
  {SemiringInfo(S::kInfo)};
  { S::zero() } -> std::same_as<typename S::value_type>;
  { S::one() } -> std::same_as<typename S::value_type>;
  { S::add(a, b) } -> std::same_as<typename S::value_type>;
  { S::mul(a, b) } -> std::same_as<typename S::value_type>;
};

/// As Python names it; the type of its vectors is the dtype of x.
template <Semiring S>
constexpr std::string_view semiring_name() {
  return S::kInfo.name;
}

}  // namespace penstock
