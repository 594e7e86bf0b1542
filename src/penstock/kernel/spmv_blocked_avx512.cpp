// A block's segments by gathers over 16-bit columns, the last vector of a segment masked; its single entries as scalars.
#include <immintrin.h>

#include "penstock/kernel/spmv_blocked.hpp"

namespace penstock::avx512 {
namespace {

constexpr std::size_t kAhead = 2048;  // bytes, of what a block reads once

__m256i columns8(const std::uint16_t* c) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(c)));
}
__m512i columns16(const std::uint16_t* c) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(c)));
}

template <class V>
double segment(const std::uint16_t* c, [[maybe_unused]] const V* v, const double* x, int n) {
  auto a = _mm512_setzero_pd(), b = a;
  int k = 0;
  for (; k + 16 <= n; k += 16) {
    const auto g = _mm512_i32gather_pd(columns8(c + k), x, 8),
               h = _mm512_i32gather_pd(columns8(c + k + 8), x, 8);
    if constexpr (is_pattern<V>) a = _mm512_add_pd(a, g), b = _mm512_add_pd(b, h);
    else
      a = _mm512_fmadd_pd(_mm512_loadu_pd(v + k), g, a),
      b = _mm512_fmadd_pd(_mm512_loadu_pd(v + k + 8), h, b);
  }
  for (; k < n; k += 8) {
    const auto m = static_cast<__mmask8>(n - k >= 8 ? 0xff : (1 << (n - k)) - 1);
    const auto g = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, columns8(c + k), x, 8);
    if constexpr (is_pattern<V>) a = _mm512_add_pd(a, g);
    else a = _mm512_fmadd_pd(_mm512_maskz_loadu_pd(m, v + k), g, a);
  }
  return _mm512_reduce_add_pd(_mm512_add_pd(a, b));
}

template <class V>
float segment(const std::uint16_t* c, [[maybe_unused]] const V* v, const float* x, int n) {
  auto a = _mm512_setzero_ps();
  int k = 0;
  for (; k + 16 <= n; k += 16) {
    const auto g = _mm512_i32gather_ps(columns16(c + k), x, 4);
    if constexpr (is_pattern<V>) a = _mm512_add_ps(a, g);
    else a = _mm512_fmadd_ps(_mm512_loadu_ps(v + k), g, a);
  }
  if (k < n) {
    const auto m = static_cast<__mmask16>((1u << (n - k)) - 1);
    const auto g = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, columns16(c + k), x, 4);
    if constexpr (is_pattern<V>) a = _mm512_add_ps(a, g);
    else a = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m, v + k), g, a);
  }
  return _mm512_reduce_add_ps(a);
}

}  // namespace

template <class T, class V>
void block(const BlockArgs<T, V>& p) {
  T* __restrict y = p.y;
  const T* __restrict x = p.x;
  const auto* c = p.cols;
  const V* v = p.values;
  for (std::int64_t s = 0; s < p.segment_count; ++s) {
    const int n = p.segments[2 * s + 1];
    __builtin_prefetch(c + kAhead / sizeof(*c));
    if constexpr (!is_pattern<V>)
      for (int k = 0; k < n; k += 64 / int(sizeof(V))) __builtin_prefetch(v + k + kAhead / sizeof(V));
    y[p.segments[2 * s]] += segment(c, v, x, n);
    c += n;
    if constexpr (!is_pattern<V>) v += n;
  }
  constexpr std::int64_t kStep = 16;  // entries of a line of singles
  for (std::int64_t first = 0; first < p.single_count; first += kStep) {
    __builtin_prefetch(p.singles + first + kAhead / sizeof(std::uint32_t));
    if constexpr (!is_pattern<V>)
      for (std::int64_t k = 0; k < kStep; k += 64 / std::int64_t(sizeof(V)))
        __builtin_prefetch(p.single_values + first + k + kAhead / sizeof(V));
    const auto last = first + kStep < p.single_count ? first + kStep : p.single_count;
    for (auto k = first; k < last; ++k) {
      const auto at = p.singles[k];
      if constexpr (is_pattern<V>) y[at >> 16] += x[at & 0xffff];
      else y[at >> 16] += p.single_values[k] * x[at & 0xffff];
    }
  }
}

#define X(T, V) template void block<T, V>(const BlockArgs<T, V>&);
PENSTOCK_FOR_EACH_PLANNED(X)
#undef X

}  // namespace penstock::avx512
