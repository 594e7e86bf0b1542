// Rows of Y are in up to 16 vectors of 8 doubles or 16 floats, of which the last one is masked.
#include "penstock/kernel/lanes_avx512.hpp"
#include "penstock/kernel/spmm/push_rows_loops.hpp"
#include "penstock/kernel/spmm/sddmm_loops.hpp"
#include "penstock/kernel/spmm/spmm_rows_loops.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock::avx512 {
namespace {

struct Doubles : Double {
  static Mask mask(int from, int to) { return static_cast<Mask>((1u << to) - (1u << from)); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_pd(a, b); }
  using Double::store;
  static void store(double* p, Vec v) { _mm512_storeu_pd(p, v); }
  static void stream(double* p, Vec v) { _mm512_stream_pd(p, v); }
  static Vec blend(Mask m, Vec a, Vec b) { return _mm512_mask_blend_pd(m, a, b); }
  static void fence() { _mm_sfence(); }
  /// p[i] = the sum of the lanes of s[i], for i < 4.
  static void store_sums(double* p, const Vec* s) {
    const auto half = [](Vec a) {
      return _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    };
    const auto low = _mm256_hadd_pd(half(s[0]), half(s[1])), high = _mm256_hadd_pd(half(s[2]), half(s[3]));
    _mm256_storeu_pd(
        p, _mm256_add_pd(_mm256_permute2f128_pd(low, high, 0x20), _mm256_permute2f128_pd(low, high, 0x31)));
  }
};

struct Floats : Float {
  static Mask mask(int from, int to) { return static_cast<Mask>((1u << to) - (1u << from)); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  using Float::store;
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static void stream(float* p, Vec v) { _mm512_stream_ps(p, v); }
  static Vec blend(Mask m, Vec a, Vec b) { return _mm512_mask_blend_ps(m, a, b); }
  static void fence() { _mm_sfence(); }
  static void store_sums(float* p, const Vec* s) {
    const auto half = [](Vec a) {
      return _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    };
    const auto all =
        _mm256_hadd_ps(_mm256_hadd_ps(half(s[0]), half(s[1])), _mm256_hadd_ps(half(s[2]), half(s[3])));
    _mm_storeu_ps(p, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
  }
};

}  // namespace

template <class T, class V>
void spmm_rows(const SpmmArgs<T, V>& p) {
  spmm_loops::spmm_rows<std::conditional_t<sizeof(T) == 8, Doubles, Floats>, 16, 9>(p);
}

template <class T, class V>
void spmm_scatter(const SpmmArgs<T, V>& p) {
  spmm_loops::spmm_scatter<std::conditional_t<sizeof(T) == 8, Doubles, Floats>, 16, 9>(p);
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

}  // namespace penstock::avx512
