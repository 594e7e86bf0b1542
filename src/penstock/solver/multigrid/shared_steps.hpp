#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "penstock/format/csr.hpp"

// What the set-up on the CPU and on a GPU do alike, as constexpr text that both compile.
namespace penstock {

/// The output function of SplitMix64 (Steele, Lea and Flood 2014).
constexpr std::uint64_t hashed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// States of a vertex while an independent set grows; all other numbers are priorities of vertices that are open.
inline constexpr std::uint64_t kOutside = 0, kInside = ~std::uint64_t{0};

constexpr std::uint64_t round_key(std::uint64_t seed, std::uint64_t round) {
  return hashed(seed * 0x100000001b3 + round);
}
/// The priority of a vertex in a round: a hash, and below it the vertex, so that no two are equal.
constexpr std::uint64_t priority_of(std::uint64_t key, std::uint64_t number) {
  return (hashed(key ^ number) & ~std::uint64_t{0xffffffff}) | (number + 1);
}

/// Entry i of the vector from which Lanczos' method starts, and with `other` of a second one that looks independent.
constexpr double start_entry(std::int64_t i, bool other = false) {
  auto h = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15;
  if (other) h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9;
  return static_cast<double>(h >> 11) * 0x1p-53 - 0.5;
}

/// Squares of strengths count as equal up to this part: where a connection is just as strong as asked for, which is common on regular
/// grids, it is strong, and rounding does not decide.
inline constexpr double kTie = 1e-4;

/// Strength of connection by pointers: see Strength.
template <class T>
struct StrengthView {
  double threshold;
  const T* inverse;
  const float* largest;

  constexpr double square(std::int64_t i, std::int64_t j, T a) const {
    const auto v = static_cast<double>(a);
    return v * static_cast<double>(inverse[i]) * (v * static_cast<double>(inverse[j]));
  }
  constexpr bool operator()(std::int64_t i, std::int64_t j, T a) const {
    const auto s = square(i, j, a);
    const auto least = largest[i] < largest[j] ? largest[i] : largest[j];
    return s > 0 && s >= (1 - kTie) * threshold * static_cast<double>(least);
  }
};

/// A column whose norm falls below this part of what it was depends on the columns before it.
inline constexpr double kDependent = 1e-8;

/// Orthonormal columns in place of `m` (rows x k, row-major) and R (k x k), by Gram and Schmidt's method, twice for each column.
constexpr void orthonormalise(double* m, std::int64_t rows, std::int64_t k, double* r) {
  const auto dot_of = [&](std::int64_t a, std::int64_t b) {
    double s = 0;
    for (std::int64_t i = 0; i < rows; ++i) s += m[i * k + a] * m[i * k + b];
    return s;
  };
  for (std::int64_t i = 0; i < k * k; ++i) r[i] = 0;
  for (std::int64_t c = 0; c < k; ++c) {
    const double before = std::sqrt(dot_of(c, c));
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t p = 0; p < c; ++p) {
        const double s = dot_of(p, c);
        r[p * k + c] += s;
        for (std::int64_t i = 0; i < rows; ++i) m[i * k + c] -= s * m[i * k + p];
      }
    const double norm = std::sqrt(dot_of(c, c));
    const bool dependent = !(norm > kDependent * before);
    r[c * k + c] = dependent ? 0 : norm;
    for (std::int64_t i = 0; i < rows; ++i) m[i * k + c] = dependent ? 0 : m[i * k + c] / norm;
  }
}

/// The diagonal entry of row i after weak entries were added to it; `inverse` is that of the entry in A, and 0 gives 0. Without
/// `strong` every entry is strong.
template <class T>
constexpr double filtered_diagonal(std::int64_t i, const CsrView<T>& a, const T* inverse,
                                   const StrengthView<T>* strong) {
  // Weak entries that would nearly cancel the diagonal one are left out and not added.
  constexpr double kLeastFiltered = 0.1;
  const double d = inverse[i] != 0 ? 1 / static_cast<double>(inverse[i]) : 0;
  double filtered = d;
  if (strong && d != 0)
    for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k) {
      const auto j = a.indices[k];
      if (j != i && !(*strong)(i, j, a.values[k])) filtered += static_cast<double>(a.values[k]);
    }
  return filtered > kLeastFiltered * d ? filtered : d;
}

}  // namespace penstock
