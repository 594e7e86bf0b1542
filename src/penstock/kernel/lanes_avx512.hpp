#pragma once
#include <immintrin.h>

#include <type_traits>

#include "penstock/format/csr.hpp"

// A vector of doubles or of floats under one name, for the files compiled for AVX-512. No other file includes this: its
// functions must never be compiled, and then shared by the linker, for more than the processor that runs them.
namespace penstock::avx512 {

struct Double {
  using Vec = __m512d;
  using Mask = __mmask8;
  static constexpr int kWidth = 8;
  static Vec zero() { return _mm512_setzero_pd(); }
  static Vec all(double v) { return _mm512_set1_pd(v); }
  static Vec load(const double* v) { return _mm512_loadu_pd(v); }
  static Vec load(Mask m, const double* v) { return _mm512_maskz_loadu_pd(m, v); }
  static Vec load(const float* v) { return _mm512_cvtps_pd(_mm256_loadu_ps(v)); }
  static void store(Mask m, double* p, Vec v) { _mm512_mask_storeu_pd(p, m, v); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_pd(a, b, c); }
  static Vec add(Vec a, Vec b) { return _mm512_add_pd(a, b); }
  static double sum(Vec a) { return _mm512_reduce_add_pd(a); }
};

struct Float {
  using Vec = __m512;
  using Mask = __mmask16;
  static constexpr int kWidth = 16;
  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec all(float v) { return _mm512_set1_ps(v); }
  static Vec load(const float* v) { return _mm512_loadu_ps(v); }
  static Vec load(Mask m, const float* v) { return _mm512_maskz_loadu_ps(m, v); }
  static void store(Mask m, float* p, Vec v) { _mm512_mask_storeu_ps(p, m, v); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
};

template <class T>
using Lanes = std::conditional_t<sizeof(T) == 8, Double, Float>;

}  // namespace penstock::avx512
