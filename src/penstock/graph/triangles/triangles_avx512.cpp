// Looks sixteen numbers up in a bitmap at a time.
#include <immintrin.h>

#include "penstock/graph/triangles/triangles.hpp"

namespace penstock::graph::avx512 {
namespace {

/// Which of these numbers have their bit set; `m` says which are looked at.
__mmask16 test(const std::uint32_t* bits, __m512i w, __mmask16 m) {
  const auto words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, _mm512_srli_epi32(w, 5), bits, 4);
  const auto bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(w, _mm512_set1_epi32(31)));
  return _mm512_mask_test_epi32_mask(m, words, bit);
}

}  // namespace

std::int64_t marked(const std::uint32_t* bits, const Index* list, std::int64_t count, Index* found) {
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < count; k += 16) {
    const auto m = static_cast<__mmask16>(count - k >= 16 ? 0xffffU : (1U << (count - k)) - 1);
    const auto w = _mm512_maskz_loadu_epi32(m, list + k);
    const auto hit = test(bits, w, m);
    if (found) _mm512_storeu_si512(found + n, _mm512_maskz_compress_epi32(hit, w));
    n += __builtin_popcount(hit);
  }
  return n;
}

}  // namespace penstock::graph::avx512
