// Looks at sixteen weights at a time, the last ones under a mask.
#include <immintrin.h>

#include "penstock/graph/sssp/weights_look.hpp"

namespace penstock::graph::avx512 {
namespace {

__m512i mixed(__m512i h) {
  h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 30)),
                         _mm512_set1_epi64(std::int64_t(kHashFirst)));
  h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 27)),
                         _mm512_set1_epi64(std::int64_t(kHashSecond)));
  return _mm512_xor_si512(h, _mm512_srli_epi64(h, 31));
}

/// Modulo 2^64, which the reduction of signed numbers does not promise.
std::uint64_t sum_of(__m512i v) {
  std::uint64_t each[8], sum = 0;
  _mm512_storeu_si512(each, v);
  for (const auto one : each) sum += one;
  return sum;
}

/// The sum with what eight entries add: mirror_hash() of each.
__m512i add_mirror(__m512i sum, __m256i row, __m256i column, __m512i bits) {
  const auto low = _mm512_cvtepu32_epi64(_mm256_min_epu32(row, column));
  const auto high = _mm512_cvtepu32_epi64(_mm256_max_epu32(row, column));
  const auto pair = _mm512_mullo_epi64(_mm512_or_si512(_mm512_slli_epi64(high, 32), low),
                                       _mm512_set1_epi64(std::int64_t(kHashPair)));
  const auto h = mixed(_mm512_add_epi64(_mm512_xor_si512(pair, _mm512_srli_epi64(pair, 32)), bits));
  sum = _mm512_mask_add_epi64(sum, _mm256_cmplt_epu32_mask(row, column), sum, h);
  return _mm512_mask_sub_epi64(sum, _mm256_cmpgt_epu32_mask(row, column), sum, h);
}

__m256i half(__m512i v, int which) {
  return which ? _mm512_extracti64x4_epi64(v, 1) : _mm512_castsi512_si256(v);
}

/// Sixteen numbers, as few bytes each as asked for.
void write(void* to, int bytes, std::int64_t k, __mmask16 m, __m512i v) {
  if (bytes == 1) _mm_mask_storeu_epi8(static_cast<std::uint8_t*>(to) + k, m, _mm512_cvtepi32_epi8(v));
  else if (bytes == 2)
    _mm256_mask_storeu_epi16(static_cast<std::uint16_t*>(to) + k, m, _mm512_cvtepi32_epi16(v));
  else _mm512_mask_storeu_epi32(static_cast<std::uint32_t*>(to) + k, m, v);
}

struct Floats {
  static constexpr int kVectors = 1;
  using Vec = __m512;
  using Mask = __mmask16;
  static Vec load(Mask m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
  static Vec all(float x) { return _mm512_set1_ps(x); }
  template <int kHow>
  static Mask compare(Vec a, Vec b) {
    return _mm512_cmp_ps_mask(a, b, kHow);
  }
  static Vec keep(Mask m, Vec a, Vec other) { return _mm512_mask_mov_ps(other, m, a); }
  static Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
  static Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
  static Vec unsigned_zero(Vec a) { return _mm512_add_ps(a, _mm512_setzero_ps()); }
  static __m512i truncated(const Vec* x) { return _mm512_cvttps_epi32(*x); }
  static Vec real(__m512i v, int) { return _mm512_cvtepi32_ps(v); }
  static __m512d doubles(const Vec* x, int which) {
    return _mm512_cvtps_pd(_mm256_castsi256_ps(half(_mm512_castps_si512(*x), which)));
  }
  static __m512i bits(const Vec* x, int which) {
    return _mm512_cvtepu32_epi64(half(_mm512_castps_si512(*x), which));
  }
  static double least(Vec v) { return _mm512_reduce_min_ps(v); }
  static double most(Vec v) { return _mm512_reduce_max_ps(v); }
};

struct Doubles {
  static constexpr int kVectors = 2;
  using Vec = __m512d;
  using Mask = __mmask8;
  static Vec load(Mask m, const double* p) { return _mm512_maskz_loadu_pd(m, p); }
  static Vec all(double x) { return _mm512_set1_pd(x); }
  template <int kHow>
  static Mask compare(Vec a, Vec b) {
    return _mm512_cmp_pd_mask(a, b, kHow);
  }
  static Vec keep(Mask m, Vec a, Vec other) { return _mm512_mask_mov_pd(other, m, a); }
  static Vec min(Vec a, Vec b) { return _mm512_min_pd(a, b); }
  static Vec max(Vec a, Vec b) { return _mm512_max_pd(a, b); }
  static Vec unsigned_zero(Vec a) { return _mm512_add_pd(a, _mm512_setzero_pd()); }
  static __m512i truncated(const Vec* x) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvttpd_epi32(x[0])), _mm512_cvttpd_epi32(x[1]),
                              1);
  }
  static Vec real(__m512i v, int which) { return _mm512_cvtepi32_pd(half(v, which)); }
  static __m512d doubles(const Vec* x, int which) { return x[which]; }
  static __m512i bits(const Vec* x, int which) { return _mm512_castpd_si512(x[which]); }
  static double least(Vec v) { return _mm512_reduce_min_pd(v); }
  static double most(Vec v) { return _mm512_reduce_max_pd(v); }
};

double add_up(const __m512d* sum) {
  double lanes[kLookLanes], all = 0;
  _mm512_storeu_pd(lanes, sum[0]), _mm512_storeu_pd(lanes + 8, sum[1]);
  for (const auto x : lanes) all += x;
  return all;
}

template <class L, bool kMirror, class V>
WeightsFound look(const LookArgs<V>& p) {
  using Vec = typename L::Vec;
  constexpr int kVectors = L::kVectors, kWidth = kLookLanes / kVectors;
  const Vec endless = L::all(std::numeric_limits<V>::infinity()), zero = L::all(0);
  Vec smallest[kVectors], largest[kVectors];
  for (int i = 0; i < kVectors; ++i) smallest[i] = endless, largest[i] = zero;
  __m512d sum[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
  __m512i mirror = _mm512_setzero_si512();
  unsigned fractions = 0, endings = 0, bad = 0;
  for (std::int64_t k = 0; k < p.count; k += kLookLanes) {
    const auto left = p.count - k;
    const auto m = static_cast<__mmask16>(left >= kLookLanes ? 0xffff : (1U << left) - 1);
    Vec v[kVectors], x[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      const auto own = static_cast<typename L::Mask>(m >> (kWidth * i));
      v[i] = L::load(own, p.weights + k + kWidth * i);
      const auto ends = L::template compare<_CMP_LT_OQ>(v[i], endless);
      bad |= L::template compare<_CMP_NGE_UQ>(v[i], zero);
      endings |= L::template compare<_CMP_NLT_UQ>(v[i], endless);
      x[i] = L::keep(ends, v[i], zero);
      smallest[i] = L::min(smallest[i], L::keep(static_cast<typename L::Mask>(ends & own), v[i], endless));
      largest[i] = L::max(largest[i], x[i]);
    }
    const auto whole = L::truncated(x);
    for (int i = 0; i < kVectors; ++i) fractions |= L::template compare<_CMP_NEQ_UQ>(L::real(whole, i), x[i]);
    for (int i = 0; i < 2; ++i) sum[i] = _mm512_add_pd(sum[i], L::doubles(x, i));
    if (p.narrow) write(p.narrow, p.narrow_bytes, k, m, whole);
    if constexpr (kMirror) {
      const auto row = _mm512_maskz_loadu_epi32(m, p.rows + k),
                 column = _mm512_maskz_loadu_epi32(m, p.columns + k);
      for (int i = 0; i < kVectors; ++i) v[i] = L::unsigned_zero(v[i]);
      for (int i = 0; i < 2; ++i) mirror = add_mirror(mirror, half(row, i), half(column, i), L::bits(v, i));
    }
  }
  WeightsFound found{.sum = add_up(sum),
                     .whole = !(fractions | endings),
                     .finite = !endings,
                     .good = !bad,
                     .mirror = sum_of(mirror)};
  for (int i = 0; i < kVectors; ++i) {
    found.smallest = std::min(found.smallest, L::least(smallest[i]));
    found.largest = std::max(found.largest, L::most(largest[i]));
  }
  return found;
}

WeightsFound look_at_pattern(const LookArgs<One>& p) {
  __m512i mirror = _mm512_setzero_si512();
  for (std::int64_t k = 0; p.rows && k < p.count; k += kLookLanes) {
    const auto left = p.count - k;
    const auto m = static_cast<__mmask16>(left >= kLookLanes ? 0xffff : (1U << left) - 1);
    const auto row = _mm512_maskz_loadu_epi32(m, p.rows + k),
               column = _mm512_maskz_loadu_epi32(m, p.columns + k);
    for (int i = 0; i < 2; ++i)
      mirror = add_mirror(mirror, half(row, i), half(column, i), _mm512_setzero_si512());
  }
  return {.mirror = sum_of(mirror)};
}

}  // namespace

template <class V>
WeightsFound look_at_weights(const LookArgs<V>& p) {
  if constexpr (is_pattern<V>) return look_at_pattern(p);
  else if constexpr (sizeof(V) == 4) return p.rows ? look<Floats, true>(p) : look<Floats, false>(p);
  else return p.rows ? look<Doubles, true>(p) : look<Doubles, false>(p);
}
template WeightsFound look_at_weights(const LookArgs<One>&);
template WeightsFound look_at_weights(const LookArgs<float>&);
template WeightsFound look_at_weights(const LookArgs<double>&);

}  // namespace penstock::graph::avx512
