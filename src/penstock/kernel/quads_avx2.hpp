#pragma once
#include <immintrin.h>

#include <type_traits>

#include "penstock/format/csr.hpp"

// Four doubles or floats under one name, for the files compiled for AVX2. No other file includes this: its functions must
// never be compiled, and then shared by the linker, for more than the processor that runs them.
namespace penstock::avx2 {

// Scattered entries are loaded one by one. If x lies in a cache, the gather instruction takes 1.5 to 2.5 times as long (rows
// of 5 to 45 entries: half of bcsstk32, G2_circuit, t2dah_e and bodyy5, on a Zen 5).
struct Double {
  using Vec = __m256d;
  static Vec zero() { return _mm256_setzero_pd(); }
  template <class Column>
  static Vec gather(const Column* j, const double* x) {
    const auto low = _mm_loadh_pd(_mm_load_sd(x + j[0]), x + j[1]);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), _mm_loadh_pd(_mm_load_sd(x + j[2]), x + j[3]),
                                1);
  }
  static Vec load(const double* v) { return _mm256_loadu_pd(v); }
  static Vec load(const float* v) { return _mm256_cvtps_pd(_mm_loadu_ps(v)); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_pd(a, b, c); }
  static Vec add(Vec a, Vec b) { return _mm256_add_pd(a, b); }
  static double sum(Vec a) {
    const __m128d h = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
  }
};

struct Float {
  using Vec = __m128;
  static Vec zero() { return _mm_setzero_ps(); }
  template <class Column>
  static Vec gather(const Column* j, const float* x) {
    const auto low = _mm_unpacklo_ps(_mm_load_ss(x + j[0]), _mm_load_ss(x + j[1]));
    return _mm_movelh_ps(low, _mm_unpacklo_ps(_mm_load_ss(x + j[2]), _mm_load_ss(x + j[3])));
  }
  static Vec load(const float* v) { return _mm_loadu_ps(v); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm_fmadd_ps(a, b, c); }
  static Vec add(Vec a, Vec b) { return _mm_add_ps(a, b); }
  static float sum(Vec a) {
    const __m128 h = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
  }
};

template <class T>
using Quad = std::conditional_t<sizeof(T) == 8, Double, Float>;

/// The sum of v[k] x[j[k]] over k < n. v is not read for a pattern. Two sums of four entries each are computed side by side.
template <class T, class V, class Column>
inline T dot(const Column* j, [[maybe_unused]] const V* v, const T* x, Offset n) {
  using Q = Quad<T>;
  const auto step = [&](typename Q::Vec sum, Offset k) {
    if constexpr (is_pattern<V>) return Q::add(sum, Q::gather(j + k, x));
    else return Q::fma(Q::load(v + k), Q::gather(j + k, x), sum);
  };
  auto a = Q::zero();
  Offset k = 0;
  if (n >= 8) {
    auto b = a;
    for (; k + 8 <= n; k += 8) a = step(a, k), b = step(b, k + 4);
    a = Q::add(a, b);
  }
  if (k + 4 <= n) a = step(a, k), k += 4;
  T rest = 0;
  for (; k < n; ++k) {
    if constexpr (is_pattern<V>) rest += x[j[k]];
    else rest += static_cast<T>(v[k]) * x[j[k]];
  }
  return Q::sum(a) + rest;
}

}  // namespace penstock::avx2
