#pragma once
#include "penstock/kernel/spmm/sddmm_rows.hpp"

// The inner loops of the sampled product on the CPU: four rows of Y meet a row of X at once, so that its entries are loaded once
// for all four, no sum waits for another, and the lanes of four sums are added up together. Each inner product adds in the same
// order whether it is computed with three others or with fewer, and so has the same bits. The text is compiled once for each
// instruction set: `L` (its vectors) is a type of the including file's own, so that the linker keeps all versions.
namespace penstock::spmm_loops {

constexpr std::int64_t kAheadBytes = 512;  // of a row to prefetch; the processor goes on by itself

/// How many rows of Y to prefetch ahead: the shorter they are, the sooner they are needed.
constexpr std::int64_t rows_ahead(std::int64_t row_bytes) {
  return row_bytes <= 64 ? 32 : row_bytes <= 256 ? 16 : 8;
}

template <class L, int kRows, class T>
inline __attribute__((always_inline)) void dots_of(const DotsArgs<T>& p, std::int64_t k, std::int64_t whole,
                                                   typename L::Mask rest) {
  const T* rows[kRows];
  typename L::Vec sum[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sum[i] = L::zero();
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) rows[i] = p.y + p.columns[k + i] * p.y_step;
  std::int64_t c = 0;
  for (; c < whole; c += L::kWidth) {
    const auto x = L::load(p.x + c);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) sum[i] = L::fma(x, L::load(rows[i] + c), sum[i]);
  }
  if (whole < p.width) {
    const auto x = L::load(rest, p.x + c);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) sum[i] = L::fma(x, L::load(rest, rows[i] + c), sum[i]);
  }
  if constexpr (kRows == 4) {
    L::store_sums(p.out + k, sum);
  } else {
    T all[4];
    L::store_sums(all, sum);
    for (int i = 0; i < kRows; ++i) p.out[k + i] = all[i];
  }
}

template <class L, class T>
void dots(const DotsArgs<T>& p) {
  if (p.width == 1) {  // vectors: the same products, without lanes of which one counts
    for (std::int64_t k = 0; k < p.count; ++k) p.out[k] = *p.x * p.y[p.columns[k] * p.y_step];
    return;
  }
  constexpr std::int64_t kSize = sizeof(T), kLine = 64 / kSize;
  const auto whole = p.width / L::kWidth * L::kWidth;
  const auto rest = L::mask(0, static_cast<int>(p.width - whole));
  const auto part = p.width < kAheadBytes / kSize ? p.width : kAheadBytes / kSize;
  const auto ahead = rows_ahead(p.width * kSize);
  std::int64_t k = 0;
  for (; k + 4 <= p.count; k += 4) {
    if (k + ahead + 4 <= p.known)
      for (int i = 0; i < 4; ++i) {
        const T* row = p.y + p.columns[k + ahead + i] * p.y_step;
        for (std::int64_t c = 0; c < part; c += kLine) __builtin_prefetch(row + c, 0, 3);
      }
    dots_of<L, 4>(p, k, whole, rest);
  }
  const auto left = p.count - k;
  if (left == 3) dots_of<L, 3>(p, k, whole, rest);
  if (left == 2) dots_of<L, 2>(p, k, whole, rest);
  if (left == 1) dots_of<L, 1>(p, k, whole, rest);
}

}  // namespace penstock::spmm_loops
