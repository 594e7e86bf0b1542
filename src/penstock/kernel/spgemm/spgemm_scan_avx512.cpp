// Writes and clears a dense accumulator (spgemm_scan.hpp). One instruction makes a mask of 64 flags. Groups with many hits are
// written by compressed vectors, the others bit by bit.
#include <immintrin.h>

#include "penstock/kernel/spgemm/spgemm_scan.hpp"

namespace penstock::avx512 {
namespace {

constexpr int kCrowded = 12;  // with more hits than this among 64 columns, compressing is faster

template <class T>
struct Out {
  Index* columns;
  T* values;
};

template <class T>
inline void one(const ScanArgs<T>& p, std::int64_t i, Out<T>& out) {
  *out.columns++ = p.first + static_cast<Index>(i);
  if constexpr (!std::is_same_v<T, std::uint8_t>) *out.values++ = p.sums[i], p.sums[i] = p.zero;
}

/// Writes those of the 16 columns from `i` on that are in the mask.
template <class T>
inline void sixteen(const ScanArgs<T>& p, std::int64_t i, __mmask16 m, Out<T>& out) {
  const auto lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto columns = _mm512_add_epi32(lane, _mm512_set1_epi32(p.first + static_cast<Index>(i)));
  const auto count = _mm_popcnt_u32(m);
  // Compressed to a register first, because a compressing store to memory takes many times as long on some processors.
  const auto keep = static_cast<__mmask16>((1u << count) - 1);
  _mm512_mask_storeu_epi32(out.columns, keep, _mm512_maskz_compress_epi32(m, columns));
  out.columns += count;
  if constexpr (std::is_same_v<T, float>) {
    _mm512_mask_storeu_ps(out.values, keep, _mm512_maskz_compress_ps(m, _mm512_loadu_ps(p.sums + i)));
    _mm512_storeu_ps(p.sums + i, _mm512_set1_ps(p.zero));
    out.values += count;
  } else if constexpr (std::is_same_v<T, double>) {
    for (int half = 0; half < 2; ++half) {
      const auto mask = static_cast<__mmask8>(m >> (8 * half));
      const auto n = _mm_popcnt_u32(mask);
      auto* sums = p.sums + i + 8 * half;
      _mm512_mask_storeu_pd(out.values, static_cast<__mmask8>((1u << n) - 1),
                            _mm512_maskz_compress_pd(mask, _mm512_loadu_pd(sums)));
      _mm512_storeu_pd(sums, _mm512_set1_pd(p.zero));
      out.values += n;
    }
  }
}

template <class T>
inline void group(const ScanArgs<T>& p, std::int64_t g, Out<T>& out) {
  auto* flags = p.flags + g * 64;
  const auto all = _mm512_loadu_si512(flags);
  auto mask = _mm512_test_epi8_mask(all, all);
  if (mask == 0) return;
  _mm512_storeu_si512(flags, _mm512_setzero_si512());
  if (_mm_popcnt_u64(mask) >= kCrowded) {
    for (int part = 0; part < 4; ++part)
      if (const auto m = static_cast<__mmask16>(mask >> (16 * part)); m != 0)
        sixteen(p, g * 64 + 16 * part, m, out);
    return;
  }
  for (; mask != 0; mask &= mask - 1) one(p, g * 64 + static_cast<std::int64_t>(__builtin_ctzll(mask)), out);
}

}  // namespace

template <class T>
std::int64_t scan(const ScanArgs<T>& args) {
  const ScanArgs<T> p = args;  // a copy: no store can change it
  Out<T> out{p.columns, p.values};
  if (p.all) {
    for (std::int64_t g = 0; g < p.count; ++g) group(p, g, out);
    return out.columns - p.columns;
  }
  for (std::int64_t first = 0; first < p.count; first += 64) {
    const auto bytes = _mm512_loadu_si512(p.groups + first);
    auto hit = _mm512_test_epi8_mask(bytes, bytes);
    if (hit == 0) continue;
    _mm512_storeu_si512(p.groups + first, _mm512_setzero_si512());
    for (; hit != 0; hit &= hit - 1) group(p, first + static_cast<std::int64_t>(__builtin_ctzll(hit)), out);
  }
  return out.columns - p.columns;
}

template std::int64_t scan<float>(const ScanArgs<float>&);
template std::int64_t scan<double>(const ScanArgs<double>&);
template std::int64_t scan<std::uint8_t>(const ScanArgs<std::uint8_t>&);

}  // namespace penstock::avx512
