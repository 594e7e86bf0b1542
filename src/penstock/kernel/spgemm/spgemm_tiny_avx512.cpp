// Rows of at most 16 products: the 16 columns are one vector, and the products are one or two. Rows of B are expanded to the
// lanes that are free, and nothing is written to memory before it goes to its place in C.
#include <immintrin.h>

#include "penstock/kernel/spgemm/spgemm_tiny.hpp"

namespace penstock::avx512 {
namespace {

struct Doubles {
  __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();
  void add_row(std::uint32_t lanes, int at, std::uint32_t read, double a, const double* b) {
    const auto factor = _mm512_set1_pd(a);
    const auto in_low = static_cast<__mmask8>(lanes), in_high = static_cast<__mmask8>(lanes >> 8);
    if (!b) {
      low = _mm512_mask_mov_pd(low, in_low, factor), high = _mm512_mask_mov_pd(high, in_high, factor);
      return;
    }
    // A row that crosses from the low half to the high one begins in the middle of the loaded values there.
    const int skip = at < 8 ? 8 - at : 0;
    const auto first = _mm512_maskz_loadu_pd(static_cast<__mmask8>(read), b);
    const auto second = _mm512_maskz_loadu_pd(static_cast<__mmask8>(read >> skip), b + skip);
    low = _mm512_mask_mul_pd(low, in_low, factor, _mm512_maskz_expand_pd(in_low, first));
    high = _mm512_mask_mul_pd(high, in_high, factor, _mm512_maskz_expand_pd(in_high, second));
  }
  void store(double* to) const { _mm512_storeu_pd(to, low), _mm512_storeu_pd(to + 8, high); }
};

struct Floats {
  __m512 all = _mm512_setzero_ps();
  void add_row(std::uint32_t lanes, int, std::uint32_t read, float a, const float* b) {
    const auto factor = _mm512_set1_ps(a);
    const auto in = static_cast<__mmask16>(lanes);
    if (!b) {
      all = _mm512_mask_mov_ps(all, in, factor);
      return;
    }
    const auto row = _mm512_maskz_loadu_ps(static_cast<__mmask16>(read), b);
    all = _mm512_mask_mul_ps(all, in, factor, _mm512_maskz_expand_ps(in, row));
  }
  void store(float* to) const { _mm512_storeu_ps(to, all); }
};

/// Rounds is 8 or 16, which may be more than there are columns: a missing column is larger than all others.
template <int Rounds>
inline std::uint32_t places_of(__m512i columns, __m512i& place) {
  const auto one = _mm512_set1_epi32(1);
  place = _mm512_setzero_si512();
  std::uint32_t first = 0;  // a bit for each column that is not also in a lower lane
#pragma GCC unroll 16
  for (int i = 0; i < Rounds; ++i) {
    const auto c = _mm512_permutexvar_epi32(_mm512_set1_epi32(i), columns);
    const std::uint32_t equal = _mm512_cmpeq_epi32_mask(c, columns);
    const std::uint32_t is_first = (equal & ((1u << i) - 1)) == 0;
    first |= is_first << i;
    const auto after =
        static_cast<__mmask16>(_mm512_cmplt_epi32_mask(c, columns) & (0 - static_cast<int>(is_first)));
    place = _mm512_mask_add_epi32(place, after, place, one);
  }
  return first;
}

}  // namespace

template <class T>
Offset tiny(const TinyArgs<T>& args) {
  const TinyArgs<T> p = args;  // a copy: no store can change it
  auto columns = _mm512_set1_epi32(kNoColumn);
  std::conditional_t<sizeof(T) == 8, Doubles, Floats> products;
  int n = 0;
  for (Offset e = 0; e < p.count; ++e) {
    const auto row = p.a_columns[e];
    const auto k = p.b_indptr[row];
    const auto length = static_cast<int>(p.b_indptr[row + 1] - k);
    const std::uint32_t read = (1u << length) - 1, lanes = read << n;
    const auto loaded = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(read), p.b_columns + k);
    columns = _mm512_mask_expand_epi32(columns, static_cast<__mmask16>(lanes), loaded);
    products.add_row(lanes, n, read, p.a_values ? p.a_values[e] : T(1),
                     p.b_values ? p.b_values + k : nullptr);
    n += length;
  }
  __m512i place;
  auto first = n <= 8 ? places_of<8>(columns, place) : places_of<16>(columns, place);
  first &= (1u << n) - 1;
  const auto different = _mm_popcnt_u32(first);
  alignas(64) T product[kTiny];
  alignas(64) Index at[kTiny], column[kTiny];
  products.store(product);
  _mm512_store_si512(at, place), _mm512_store_si512(column, columns);
  for (int i = 0; i < different; ++i) p.values[i] = 0;
  for (int i = 0; i < n; ++i) {
    p.columns[at[i]] = column[i];
    p.values[at[i]] += product[i];
  }
  return different;
}

template Offset tiny<float>(const TinyArgs<float>&);
template Offset tiny<double>(const TinyArgs<double>&);

}  // namespace penstock::avx512
