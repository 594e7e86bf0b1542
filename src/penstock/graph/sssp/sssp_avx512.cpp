// Takes sixteen (or eight) edges of a row at a time: gathers the distances of their ends, and keeps the edges that would
// shorten them.
#include <immintrin.h>

#include "penstock/graph/sssp/sssp.hpp"

namespace penstock::graph::avx512 {
namespace {

__mmask16 first_lanes(std::int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xffff : (1U << n) - 1); }

__m512i load_weights(__mmask16 m, const std::uint8_t* w) {
  return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(m, w));
}
__m512i load_weights(__mmask16 m, const std::uint16_t* w) {
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, w));
}
__m512i load_weights(__mmask16 m, const std::uint32_t* w) { return _mm512_maskz_loadu_epi32(m, w); }

template <class W>
std::int64_t rows(const RowArgs<std::uint32_t, W>& p) {
  const auto from = _mm512_set1_epi32(static_cast<int>(p.from));
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < p.count; k += 16) {
    const auto m = first_lanes(p.count - k);
    const auto to = _mm512_maskz_loadu_epi32(m, p.to + k);
    __m512i far;
    if constexpr (is_pattern<W>) far = _mm512_add_epi32(from, _mm512_set1_epi32(1));
    else far = _mm512_add_epi32(from, load_weights(m, p.weights + k));
    const auto now = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, to, p.distances, 4);
    const auto less = _mm512_mask_cmplt_epu32_mask(m, far, now);
    if (less == 0) continue;
    _mm512_storeu_si512(p.out_v + n, _mm512_maskz_compress_epi32(less, to));
    _mm512_storeu_si512(p.out_d + n, _mm512_maskz_compress_epi32(less, far));
    n += __builtin_popcount(less);
  }
  return n;
}

std::int64_t rows(const RowArgs<float, float>& p) {
  const auto from = _mm512_set1_ps(p.from);
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < p.count; k += 16) {
    const auto m = first_lanes(p.count - k);
    const auto to = _mm512_maskz_loadu_epi32(m, p.to + k);
    const auto far = _mm512_add_ps(from, _mm512_maskz_loadu_ps(m, p.weights + k));
    const auto now = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, to, p.distances, 4);
    const auto less = _mm512_mask_cmp_ps_mask(m, far, now, _CMP_LT_OQ);
    if (less == 0) continue;
    _mm512_storeu_si512(p.out_v + n, _mm512_maskz_compress_epi32(less, to));
    _mm512_storeu_ps(p.out_d + n, _mm512_maskz_compress_ps(less, far));
    n += __builtin_popcount(less);
  }
  return n;
}

std::int64_t rows(const RowArgs<double, double>& p) {
  const auto from = _mm512_set1_pd(p.from);
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < p.count; k += 8) {
    const auto m = static_cast<__mmask8>(first_lanes(p.count - k));
    const auto to = _mm256_maskz_loadu_epi32(m, p.to + k);
    const auto far = _mm512_add_pd(from, _mm512_maskz_loadu_pd(m, p.weights + k));
    const auto now = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, to, p.distances, 8);
    const auto less = _mm512_mask_cmp_pd_mask(m, far, now, _CMP_LT_OQ);
    if (less == 0) continue;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p.out_v + n), _mm256_maskz_compress_epi32(less, to));
    _mm512_storeu_pd(p.out_d + n, _mm512_maskz_compress_pd(less, far));
    n += __builtin_popcount(less);
  }
  return n;
}

}  // namespace

template <class D, class W>
std::int64_t shortening(const RowArgs<D, W>& p) {
  return rows(p);
}
#define X(D, W) template std::int64_t shortening<D, W>(const RowArgs<D, W>&);
PENSTOCK_FOR_EACH_SSSP(X)
#undef X

}  // namespace penstock::graph::avx512
