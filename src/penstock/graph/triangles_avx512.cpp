// Sixteen look-ups of a bitmap at a time.
#include <immintrin.h>

#include "penstock/graph/triangles.hpp"

namespace penstock::graph::avx512 {

std::int64_t marked(const std::uint32_t* bits, const Index* list, std::int64_t count) {
  const auto low = _mm512_set1_epi32(31), one = _mm512_set1_epi32(1);
  std::int64_t n = 0;
  std::int64_t k = 0;
  for (; k + 16 <= count; k += 16) {
    const auto w = _mm512_loadu_si512(list + k);
    const auto words = _mm512_i32gather_epi32(_mm512_srli_epi32(w, 5), bits, 4);
    const auto bit = _mm512_sllv_epi32(one, _mm512_and_si512(w, low));
    n += __builtin_popcount(_mm512_test_epi32_mask(words, bit));
  }
  if (k < count) {
    const auto m = static_cast<__mmask16>((1U << (count - k)) - 1);
    const auto w = _mm512_maskz_loadu_epi32(m, list + k);
    const auto words =
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, _mm512_srli_epi32(w, 5), bits, 4);
    const auto bit = _mm512_sllv_epi32(one, _mm512_and_si512(w, low));
    n += __builtin_popcount(_mm512_mask_test_epi32_mask(m, words, bit));
  }
  return n;
}

}  // namespace penstock::graph::avx512
