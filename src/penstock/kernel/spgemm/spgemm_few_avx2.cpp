// A bitonic sort (Batcher, AFIPS 1968) of up to eight registers of eight keys: 64 keys take some 540 instructions without a
// branch.
#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "penstock/kernel/spgemm/spgemm_few.hpp"

namespace penstock::avx2 {
namespace {

using Vec = __m256i;

/// Each lane and its partner: the larger one goes to the lanes of the mask.
template <int Larger>
Vec exchanged(Vec v, Vec partner) {
  return _mm256_blend_epi32(_mm256_min_epu32(v, partner), _mm256_max_epu32(v, partner), Larger);
}

/// Ascending, of a bitonic register
Vec merged(Vec v) {
  v = exchanged<0b11110000>(v, _mm256_permute2x128_si256(v, v, 1));
  v = exchanged<0b11001100>(v, _mm256_shuffle_epi32(v, 0x4E));
  return exchanged<0b10101010>(v, _mm256_shuffle_epi32(v, 0xB1));
}

Vec sorted(Vec v) {
  v = exchanged<0b01100110>(v, _mm256_shuffle_epi32(v, 0xB1));
  v = exchanged<0b00111100>(v, _mm256_shuffle_epi32(v, 0x4E));
  v = exchanged<0b01011010>(v, _mm256_shuffle_epi32(v, 0xB1));
  return merged(v);
}

Vec reversed(Vec v) { return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)); }

/// Ascending, of N registers that are bitonic together
template <int N>
void merge(Vec* v) {
  if constexpr (N == 1) {
    v[0] = merged(v[0]);
  } else {
    for (int i = 0; i < N / 2; ++i) {
      const Vec low = _mm256_min_epu32(v[i], v[i + N / 2]);
      v[i + N / 2] = _mm256_max_epu32(v[i], v[i + N / 2]);
      v[i] = low;
    }
    merge<N / 2>(v), merge<N / 2>(v + N / 2);
  }
}

template <int N>
void sort(Vec* v) {
  if constexpr (N == 1) {
    v[0] = sorted(v[0]);
  } else {
    sort<N / 2>(v), sort<N / 2>(v + N / 2);
    // The second half, turned round, makes both bitonic.
    for (int i = 0; i < N / 4; ++i) std::swap(v[N / 2 + i], v[N - 1 - i]);
    for (int i = N / 2; i < N; ++i) v[i] = reversed(v[i]);
    merge<N>(v);
  }
}

template <int N>
void sort_keys_of(std::uint32_t* keys) {
  Vec v[N];
  auto* at = reinterpret_cast<Vec*>(keys);
  for (int i = 0; i < N; ++i) v[i] = _mm256_loadu_si256(at + i);
  sort<N>(v);
  for (int i = 0; i < N; ++i) _mm256_storeu_si256(at + i, v[i]);
}

}  // namespace

void sort_few(std::uint32_t* keys, int n) {
  const int width = n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : kFew;
  std::fill(keys + n, keys + width, ~std::uint32_t{0});
  if (n <= 8) return sort_keys_of<1>(keys);
  if (n <= 16) return sort_keys_of<2>(keys);
  if (n <= 32) return sort_keys_of<4>(keys);
  sort_keys_of<8>(keys);
}

}  // namespace penstock::avx2
