#pragma once
#include <concepts>
#include <cstdint>
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

/// Over bytes 0 and 1, NumPy's bool. An entry of the matrix is 1 unless its value is 0, and an absent one is 0, so a matrix that
/// results is a pattern: it stores the entries that are 1.
template <class S>
concept BooleanSemiring = Semiring<S> && std::same_as<typename S::value_type, std::uint8_t>;

/// Boolean, and a sum of ones is 1. Then a product of patterns is 1 wherever there is a product at all, and no sums are needed.
template <class S>
concept PatternSemiring = BooleanSemiring<S> && S::mul(1, 1)
== 1 && S::add(1, 1) == 1;

/// As Python names it; the type of its vectors is the dtype of x.
template <Semiring S>
constexpr std::string_view semiring_name() {
  return S::kInfo.name;
}

}  // namespace penstock
