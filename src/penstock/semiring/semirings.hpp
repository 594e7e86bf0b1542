#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "penstock/semiring/max_times.hpp"
#include "penstock/semiring/min_plus.hpp"
#include "penstock/semiring/or_and.hpp"
#include "penstock/semiring/plus_times.hpp"

// The one list of semirings. A new semiring over real numbers is a header, its #include above, and one line in
// PENSTOCK_REAL_SEMIRINGS: kernels, bindings, checks and help texts read the list from here. It is a macro, because an explicit
// instantiation needs its type spelt out, and a kernel in a .cu file must be instantiated there.

// Each with float and with double, for vectors of one kind of number and matrices of the same, or patterns.
#define PENSTOCK_REAL_SEMIRINGS(X, ...) \
  X(MinPlus, __VA_ARGS__)               \
  X(MaxTimes, __VA_ARGS__)

// Those of them that are also compiled for matrices shared out among ranks, and for tiles.
#define PENSTOCK_RANK_SEMIRINGS(X, ...) X(MinPlus, __VA_ARGS__)

// X(S<T>, One) and X(S<T>, T) of each; X(S<T>, T); X(S<T>).
#define PENSTOCK_WITH_VALUES(S, X, T) X(S<T>, One) X(S<T>, T)
#define PENSTOCK_WITH_NUMBERS(S, X, T) X(S<T>, T)
#define PENSTOCK_ALONE(S, X, T) X(S<T>)

namespace penstock {

/// A row of the list as Python reads it. `zero` and `one` are those of its numbers, or 0 and 1 of bool.
struct ListedSemiring {
  SemiringInfo info;
  double zero, one;
  bool boolean;
};

template <Semiring S>
constexpr ListedSemiring listed() {
  return {S::kInfo, static_cast<double>(S::zero()), static_cast<double>(S::one()),
          std::same_as<typename S::value_type, std::uint8_t>};
}

/// All of them, linear algebra first.
inline std::span<const ListedSemiring> semirings() {
#define PENSTOCK_LISTED(S, T) listed<S<T>>(),
  static constexpr ListedSemiring kList[] = {
      listed<PlusTimes<double>>(), PENSTOCK_REAL_SEMIRINGS(PENSTOCK_LISTED, double) listed<OrAnd>()};
#undef PENSTOCK_LISTED
  return kList;
}

/// The names of those that are compiled for ranks and tiles.
inline std::span<const std::string_view> rank_semirings() {
#define PENSTOCK_NAMED(S, T) semiring_name<S<T>>(),
  static constexpr std::string_view kNames[] = {semiring_name<PlusTimes<double>>(),
                                                PENSTOCK_RANK_SEMIRINGS(PENSTOCK_NAMED, double)
                                                    semiring_name<OrAnd>()};
#undef PENSTOCK_NAMED
  return kNames;
}

/// Those over real numbers but plus_times, as a message lists them.
inline std::string rank_real_semirings() {
  std::string out;
#define PENSTOCK_NAMED(S, T) out += (out.empty() ? "" : ", ") + std::string(semiring_name<S<T>>());
  PENSTOCK_RANK_SEMIRINGS(PENSTOCK_NAMED, double)
#undef PENSTOCK_NAMED
  return out;
}

}  // namespace penstock
