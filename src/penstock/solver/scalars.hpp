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

/// The parts of y plus a times those of x, of complex numbers, in a form that compilers turn into vectors.
template <class C>
void add_times(C a, const C* __restrict x, C* __restrict y, std::int64_t n) {
  using R = RealOf<C>;
  constexpr int kLanes = 8;
  const R real = a.real(), cross[2] = {-a.imag(), a.imag()};
  const R* __restrict p = parts_of(x);
  R* __restrict q = parts_of(y);
  std::int64_t i = 0;
  for (; i + kLanes <= 2 * n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) q[i + l] += real * p[i + l] + cross[l & 1] * p[i + (l ^ 1)];
  for (; i < 2 * n; i += 2) {
    q[i] += real * p[i] + cross[0] * p[i + 1];
    q[i + 1] += real * p[i + 1] + cross[1] * p[i];
  }
}

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
    // Products of parts with those of y and with those of y exchanged: compilers turn both into vectors.
    constexpr int kLanes = 8;
    double same[kLanes] = {}, crossed[kLanes] = {};
    const auto* p = parts_of(x);
    const auto* q = parts_of(y);
    std::int64_t i = 0;
    for (; i + kLanes <= 2 * n; i += kLanes)
      for (int l = 0; l < kLanes; ++l) {
        const auto v = static_cast<double>(p[i + l]);
        same[l] += v * static_cast<double>(q[i + l]);
        crossed[l] += v * static_cast<double>(q[i + (l ^ 1)]);
      }
    for (int l = 0; i < 2 * n; ++i, l ^= 1) {
      const auto v = static_cast<double>(p[i]);
      same[l] += v * static_cast<double>(q[i]);
      crossed[l] += v * static_cast<double>(q[l == 0 ? i + 1 : i - 1]);
    }
    double re = 0, im = 0;
    for (int l = 0; l < kLanes; l += 2) re += same[l] + same[l + 1], im += crossed[l] - crossed[l + 1];
    return {re, im};
  }
}

}  // namespace penstock
