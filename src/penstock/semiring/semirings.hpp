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

// The one list of semirings. A new semiring is a header, its #include above, and one line in PENSTOCK_REAL_SEMIRINGS or, over
// bool, in PENSTOCK_BOOLEAN_SEMIRINGS: kernels, bindings, checks and help texts read the lists from here. They are macros, because
// an explicit instantiation needs its type spelt out, and a kernel in a .cu file must be instantiated there.

// Each with float and with double, for vectors of one kind of number and matrices of the same, or patterns.
#define PENSTOCK_REAL_SEMIRINGS(X, ...) \
  X(MinPlus, __VA_ARGS__)               \
  X(MaxTimes, __VA_ARGS__)

// Over bytes 0 and 1, for matrices of any numbers but complex ones, of which only the entries that are not 0 count.
#define PENSTOCK_BOOLEAN_SEMIRINGS(X, ...) X(OrAnd, __VA_ARGS__)

// Those of them that are also compiled for matrices shared out among ranks, and for tiles.
#define PENSTOCK_RANK_SEMIRINGS(X, ...) X(MinPlus, __VA_ARGS__)
#define PENSTOCK_RANK_BOOLEAN_SEMIRINGS(X, ...) X(OrAnd, __VA_ARGS__)

// X(S<T>, One) and X(S<T>, T) of each; X(S<T>, T); X(S<T>).
#define PENSTOCK_WITH_VALUES(S, X, T) X(S<T>, One) X(S<T>, T)
#define PENSTOCK_WITH_NUMBERS(S, X, T) X(S<T>, T)
#define PENSTOCK_ALONE(S, X, T) X(S<T>)
// The same of a boolean semiring: X(S, One), X(S, float) and X(S, double); X(S, One); X(S).
#define PENSTOCK_BOOLEAN_WITH_VALUES(S, X) X(S, One) X(S, float) X(S, double)
#define PENSTOCK_BOOLEAN_WITH_PATTERNS(S, X) X(S, One)
#define PENSTOCK_BOOLEAN_ALONE(S, X) X(S)

namespace penstock {

/// A row of the list as Python reads it. `zero` and `one` are those of its numbers, or 0 and 1 of bool.
struct ListedSemiring {
  SemiringInfo info;
  double zero, one;
  bool boolean;
};

template <Semiring S>
constexpr ListedSemiring listed() {
  if constexpr (BooleanSemiring<S>)
    static_assert(
        S::zero() == 0 && S::one() == 1 && S::mul(1, 1) == 1,
        "absent entries are 0 and those of a pattern 1: a boolean semiring has these as zero and one");
  return {S::kInfo, static_cast<double>(S::zero()), static_cast<double>(S::one()), BooleanSemiring<S>};
}

/// All of them, linear algebra first.
inline std::span<const ListedSemiring> semirings() {
#define PENSTOCK_LISTED(S, T) listed<S<T>>(),
#define PENSTOCK_LISTED_BOOLEAN(S, T) listed<S>(),
  static constexpr ListedSemiring kList[] = {listed<PlusTimes<double>>(),
                                             PENSTOCK_REAL_SEMIRINGS(PENSTOCK_LISTED, double)
                                                 PENSTOCK_BOOLEAN_SEMIRINGS(PENSTOCK_LISTED_BOOLEAN, bool)};
#undef PENSTOCK_LISTED_BOOLEAN
#undef PENSTOCK_LISTED
  return kList;
}

/// The names of those that are compiled for ranks and tiles.
inline std::span<const std::string_view> rank_semirings() {
#define PENSTOCK_NAMED(S, T) semiring_name<S<T>>(),
#define PENSTOCK_NAMED_BOOLEAN(S, T) semiring_name<S>(),
  static constexpr std::string_view kNames[] = {
      semiring_name<PlusTimes<double>>(), PENSTOCK_RANK_SEMIRINGS(PENSTOCK_NAMED, double)
                                              PENSTOCK_RANK_BOOLEAN_SEMIRINGS(PENSTOCK_NAMED_BOOLEAN, bool)};
#undef PENSTOCK_NAMED_BOOLEAN
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

/// Those over bool, likewise.
inline std::string rank_boolean_semirings() {
  std::string out;
#define PENSTOCK_NAMED(S, T) out += (out.empty() ? "" : ", ") + std::string(semiring_name<S>());
  PENSTOCK_RANK_BOOLEAN_SEMIRINGS(PENSTOCK_NAMED, bool)
#undef PENSTOCK_NAMED
  return out;
}

}  // namespace penstock
