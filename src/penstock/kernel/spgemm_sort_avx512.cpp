// A column against 16 others in one comparison each way.
#include <immintrin.h>

#include "penstock/kernel/spgemm_sort.hpp"

namespace penstock::avx512 {

int ranks(const Index* columns, int n, Index* places) {
  const auto all = _mm512_loadu_si512(columns);
  const auto one = _mm512_set1_epi32(1);
  auto place = _mm512_setzero_si512();
  int different = 0;
  for (int i = 0; i < n; ++i) {
    const auto c = _mm512_set1_epi32(columns[i]);
    const std::uint32_t equal = _mm512_cmpeq_epi32_mask(c, all);
    const bool first = (equal & ((1u << i) - 1)) == 0;
    different += first;
    const auto after = static_cast<__mmask16>(_mm512_cmplt_epi32_mask(c, all) & -static_cast<int>(first));
    place = _mm512_mask_add_epi32(place, after, place, one);
  }
  _mm512_storeu_si512(places, place);
  return different;
}

}  // namespace penstock::avx512
