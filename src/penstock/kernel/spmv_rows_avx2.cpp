// Gathers of 4 doubles or 8 floats; a row's last entries one at a time.
#include <immintrin.h>

#include <type_traits>

#include "penstock/kernel/spmv_rows.hpp"

namespace penstock::avx2 {
namespace {

struct Double {
  using Vec = __m256d;
  static constexpr int kWidth = 4;
  static Vec zero() { return _mm256_setzero_pd(); }
  static Vec gather(const Index* j, const double* x) {
    return _mm256_i32gather_pd(x, _mm_loadu_si128(reinterpret_cast<const __m128i*>(j)), 8);
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
  using Vec = __m256;
  static constexpr int kWidth = 8;
  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec gather(const Index* j, const float* x) {
    return _mm256_i32gather_ps(x, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(j)), 4);
  }
  static Vec load(const float* v) { return _mm256_loadu_ps(v); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static float sum(Vec a) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
  }
};

template <class T>
using Lanes = std::conditional_t<sizeof(T) == 8, Double, Float>;

template <class T, class V>
T row_sum(const Index* j, [[maybe_unused]] const V* v, const T* x, Offset n) {
  using L = Lanes<T>;
  auto vector = L::zero();
  Offset k = 0;
  for (; k + L::kWidth <= n; k += L::kWidth) {
    if constexpr (is_pattern<V>) vector = L::add(vector, L::gather(j + k, x));
    else vector = L::fma(L::load(v + k), L::gather(j + k, x), vector);
  }
  T tail = 0;
  for (; k < n; ++k) {
    if constexpr (is_pattern<V>) tail += x[j[k]];
    else tail += static_cast<T>(v[k]) * x[j[k]];
  }
  return L::sum(vector) + tail;
}

}  // namespace

template <class T, class V>
void rows(const RowsArgs<T, V>& p) {
  Offset k = p.indptr[p.first];
  for (auto r = p.first; r < p.last; ++r) {
    const Offset end = p.indptr[r + 1];
    if constexpr (is_pattern<V>) p.out[r - p.first] = row_sum<T, V>(p.indices + k, nullptr, p.x, end - k);
    else p.out[r - p.first] = row_sum<T, V>(p.indices + k, p.values + k, p.x, end - k);
    read_ahead(p, k, end);
    k = end;
  }
}

#define X(T, V) template void rows<T, V>(const RowsArgs<T, V>&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock::avx2
