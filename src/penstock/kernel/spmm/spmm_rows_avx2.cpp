// Rows of Y are in up to 8 vectors of 4 doubles or 8 floats, of which the last one is masked.
#include <immintrin.h>

#include "penstock/kernel/spmm/push_rows_loops.hpp"
#include "penstock/kernel/spmm/sddmm_loops.hpp"
#include "penstock/kernel/spmm/spmm_rows_loops.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock::avx2 {
namespace {

struct Doubles {
  using Vec = __m256d;
  using Mask = __m256i;
  static constexpr int kWidth = 4;
  static Mask mask(int from, int to) {
    const auto lane = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_set1_epi64x(from), lane),
                               _mm256_cmpgt_epi64(_mm256_set1_epi64x(to), lane));
  }
  static Vec zero() { return _mm256_setzero_pd(); }
  static Vec all(double v) { return _mm256_set1_pd(v); }
  static Vec load(const double* p) { return _mm256_loadu_pd(p); }
  static Vec load(Mask m, const double* p) { return _mm256_maskload_pd(p, m); }
  static Vec add(Vec a, Vec b) { return _mm256_add_pd(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm256_mul_pd(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_pd(a, b, c); }
  static void store(double* p, Vec v) { _mm256_storeu_pd(p, v); }
  static void store(Mask m, double* p, Vec v) { _mm256_maskstore_pd(p, m, v); }
  static void stream(double* p, Vec v) { _mm256_stream_pd(p, v); }
  static Vec blend(Mask m, Vec a, Vec b) { return _mm256_blendv_pd(a, b, _mm256_castsi256_pd(m)); }
  static void fence() { _mm_sfence(); }
  /// p[i] = the sum of the lanes of s[i], for i < 4.
  static void store_sums(double* p, const Vec* s) {
    const auto low = _mm256_hadd_pd(s[0], s[1]), high = _mm256_hadd_pd(s[2], s[3]);
    _mm256_storeu_pd(
        p, _mm256_add_pd(_mm256_permute2f128_pd(low, high, 0x20), _mm256_permute2f128_pd(low, high, 0x31)));
  }
};

struct Floats {
  using Vec = __m256;
  using Mask = __m256i;
  static constexpr int kWidth = 8;
  static Mask mask(int from, int to) {
    const auto lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(from), lane),
                               _mm256_cmpgt_epi32(_mm256_set1_epi32(to), lane));
  }
  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec all(float v) { return _mm256_set1_ps(v); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static Vec load(Mask m, const float* p) { return _mm256_maskload_ps(p, m); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  static void store(Mask m, float* p, Vec v) { _mm256_maskstore_ps(p, m, v); }
  static void stream(float* p, Vec v) { _mm256_stream_ps(p, v); }
  static Vec blend(Mask m, Vec a, Vec b) { return _mm256_blendv_ps(a, b, _mm256_castsi256_ps(m)); }
  static void fence() { _mm_sfence(); }
  static void store_sums(float* p, const Vec* s) {
    const auto all = _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
    _mm_storeu_ps(p, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
  }
};

}  // namespace

template <class T, class V>
void spmm_rows(const SpmmArgs<T, V>& p) {
  spmm_loops::spmm_rows<std::conditional_t<sizeof(T) == 8, Doubles, Floats>, 8, 8>(p);
}

template <class T, class V>
void spmm_scatter(const SpmmArgs<T, V>& p) {
  spmm_loops::spmm_scatter<std::conditional_t<sizeof(T) == 8, Doubles, Floats>, 8, 8>(p);
}

template <class T>
void spmm_copy(const T* from, std::int64_t from_step, T* to, std::int64_t rows, std::int64_t columns) {
  spmm_loops::spmm_copy<std::conditional_t<sizeof(T) == 8, Doubles, Floats>>(from, from_step, to, rows,
                                                                             columns);
}

template <class T>
void dots(const DotsArgs<T>& p) {
  spmm_loops::dots<std::conditional_t<sizeof(T) == 8, Doubles, Floats>>(p);
}
void push_rows(const PushArgs& p) { push_loops::Lanes<Floats>::push(p); }

template void dots(const DotsArgs<float>&);
template void dots(const DotsArgs<double>&);

template void spmm_copy(const float*, std::int64_t, float*, std::int64_t, std::int64_t);
template void spmm_copy(const double*, std::int64_t, double*, std::int64_t, std::int64_t);

#define X(T, V)                                         \
  template void spmm_rows<T, V>(const SpmmArgs<T, V>&); \
  template void spmm_scatter<T, V>(const SpmmArgs<T, V>&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock::avx2
