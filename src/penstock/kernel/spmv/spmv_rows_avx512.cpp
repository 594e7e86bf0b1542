// Takes eight entries at a time, loaded one by one (kernel/quads_avx2.hpp says why), and the last ones of a row under a mask:
// branches could not be predicted if rows are irregular. Compared with four entries and branches, halves of bcsstk32 and
// cnr-2000 ran 1.13 and 1.3 times as fast on a Zen 5, and rows of 4 random entries on average 3 times as fast; G2_circuit,
// whose rows of 5 are alike, ran 0.65 times as fast: such rows go to the other kernel.
#include "penstock/kernel/lanes_avx512.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock::avx512 {
namespace {

constexpr Offset kWidth = 8;

struct Doubles : Double {
  static __m256d four(const Index* j, const double* x) {
    const auto low = _mm_loadh_pd(_mm_load_sd(x + j[0]), x + j[1]);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), _mm_loadh_pd(_mm_load_sd(x + j[2]), x + j[3]),
                                1);
  }
  static Vec gather(const Index* j, const double* x) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(four(j, x)), four(j + 4, x), 1);
  }
  using Double::add, Double::fma;
  static Vec fma(__mmask8 m, Vec a, Vec b, Vec c) { return _mm512_mask3_fmadd_pd(a, b, c, m); }
  static Vec add(__mmask8 m, Vec a, Vec b) { return _mm512_mask_add_pd(a, m, a, b); }
};

struct Floats {  // half as wide as Float, so that it has as many entries as a vector of doubles
  using Vec = __m256;
  static Vec zero() { return _mm256_setzero_ps(); }
  static __m128 four(const Index* j, const float* x) {
    const auto low = _mm_unpacklo_ps(_mm_load_ss(x + j[0]), _mm_load_ss(x + j[1]));
    return _mm_movelh_ps(low, _mm_unpacklo_ps(_mm_load_ss(x + j[2]), _mm_load_ss(x + j[3])));
  }
  static Vec gather(const Index* j, const float* x) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(four(j, x)), four(j + 4, x), 1);
  }
  static Vec load(const float* v) { return _mm256_loadu_ps(v); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec fma(__mmask8 m, Vec a, Vec b, Vec c) { return _mm256_mask3_fmadd_ps(a, b, c, m); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec add(__mmask8 m, Vec a, Vec b) { return _mm256_mask_add_ps(a, m, a, b); }
  static float sum(Vec a) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
  }
};

/// Always reads kWidth entries. If the row has fewer left, the others are those of later rows, whose columns are valid, too.
template <class T, class V>
inline T row_sum(const Index* j, [[maybe_unused]] const V* v, const T* x, Offset n) {
  using L = std::conditional_t<sizeof(T) == 8, Doubles, Floats>;
  auto a = L::zero();
  Offset k = 0;
  for (; k + kWidth < n; k += kWidth) {
    if constexpr (is_pattern<V>) a = L::add(a, L::gather(j + k, x));
    else a = L::fma(L::load(v + k), L::gather(j + k, x), a);
  }
  const auto m = static_cast<__mmask8>((std::uint32_t{1} << (n - k)) - 1);
  if constexpr (is_pattern<V>) a = L::add(m, a, L::gather(j + k, x));
  else a = L::fma(m, L::load(v + k), L::gather(j + k, x), a);
  return L::sum(a);
}

}  // namespace

template <class T, class V>
void rows(const RowsArgs<T, V>& p) {
  RowsArgs<T, V> q = p;  // a copy: no store into out can change it
  const Offset first = q.indptr[q.first], last = q.indptr[q.last];
  if (short_and_alike(q.indptr + q.first, q.last - q.first)) return avx2::rows(p);
  T* out = q.out;
  Offset k = first;
  for (; q.first < q.last; ++q.first) {
    const Offset end = q.indptr[q.first + 1];
    if (end + kWidth > last) break;
    if constexpr (is_pattern<V>) *out++ = row_sum<T, V>(q.indices + k, nullptr, q.x, end - k);
    else *out++ = row_sum<T, V>(q.indices + k, q.values + k, q.x, end - k);
    read_ahead(q, k, end);
    k = end;
  }
  q.out = out;
  avx2::rows(q);  // the last rows, from which a whole vector would reach past the end of the arrays
}

#define X(T, V) template void rows<T, V>(const RowsArgs<T, V>&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock::avx512
