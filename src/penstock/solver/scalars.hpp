#pragma once
#include <cmath>
#include <complex>
#include <cstdint>

#include "penstock/kernel/dot.hpp"

// What methods do alike with real and complex vectors. A complex vector is also a real one of twice the length, whose entries are real
// and imaginary parts in turn (std::complex promises this).
namespace penstock {

template <class T>
struct EntryKind {
  using Real = T;
  using Scalar = double;
  static constexpr std::int64_t kParts = 1;
};
template <class R>
struct EntryKind<std::complex<R>> {
  using Real = R;
  using Scalar = std::complex<double>;
  static constexpr std::int64_t kParts = 2;
};
/// The type of inner products, the type of an entry's parts, and how many parts there are.
template <class T>
using ScalarOf = typename EntryKind<T>::Scalar;
template <class T>
using RealOf = typename EntryKind<T>::Real;
template <class T>
inline constexpr std::int64_t kParts = EntryKind<T>::kParts;

template <class T>
const RealOf<T>* parts_of(const T* x) {
  return reinterpret_cast<const RealOf<T>*>(x);
}
template <class T>
RealOf<T>* parts_of(T* x) {
  return reinterpret_cast<RealOf<T>*>(x);
}

constexpr double conjugate(double v) { return v; }
constexpr std::complex<double> conjugate(std::complex<double> v) { return {v.real(), -v.imag()}; }
inline bool finite(double v) { return std::isfinite(v); }
inline bool finite(std::complex<double> v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); }

/// a b without the branches by which std::complex looks for infinities.
template <class T>
constexpr T times(T a, T b) {
  if constexpr (kParts<T> == 1) return a * b;
  else return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

/// x . x
template <class T>
double square(const T* x, std::int64_t n) {
  return dot(parts_of(x), parts_of(x), kParts<T> * n);
}

/// The sum of conj(x) y in double precision, in a fixed order.
template <class T>
ScalarOf<T> inner(const T* x, const T* y, std::int64_t n) {
  if constexpr (kParts<T> == 1) {
    return dot(x, y, n);
  } else {
    constexpr int kLanes = 4;
    double re[kLanes] = {}, im[kLanes] = {};
    const auto* p = parts_of(x);
    const auto* q = parts_of(y);
    const auto add = [&](std::int64_t i, int l) {
      const auto a = static_cast<double>(p[2 * i]), b = static_cast<double>(p[2 * i + 1]);
      const auto c = static_cast<double>(q[2 * i]), d = static_cast<double>(q[2 * i + 1]);
      re[l] += a * c + b * d, im[l] += a * d - b * c;
    };
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int l = 0; l < kLanes; ++l) add(i + l, l);
    for (; i < n; ++i) add(i, 0);
    return {(re[0] + re[1]) + (re[2] + re[3]), (im[0] + im[1]) + (im[2] + im[3])};
  }
}

}  // namespace penstock
