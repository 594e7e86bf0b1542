#pragma once
#include "penstock/kernel/spmm/sddmm_rows.hpp"

// The inner loops of the sampled product on the CPU: four rows of Y meet a row of X at once, so that its entries are loaded once
// for all four and no sum waits for another. Each inner product is one vector of sums, whether it is computed with three others
// or alone, and so has the same bits. The text is compiled once for each instruction set: `L` (its vectors) is a type of the
// including file's own, so that the linker keeps all versions.
namespace penstock::spmm_loops {

constexpr std::int64_t kRowsAhead = 8;     // rows of Y to prefetch ahead
constexpr std::int64_t kAheadBytes = 512;  // of such a row; the processor goes on by itself

template <class L, int kRows, class T>
inline __attribute__((always_inline)) void dots_of(const DotsArgs<T>& p, std::int64_t k, std::int64_t whole,
                                                   typename L::Mask rest) {
  const T* rows[kRows];
  typename L::Vec sum[kRows];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    rows[i] = p.y + p.columns[k + i] * p.y_step;
    sum[i] = L::zero();
  }
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
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) p.out[k + i] = L::sum(sum[i]);
}

template <class L, class T>
void dots(const DotsArgs<T>& p) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const auto whole = p.width / L::kWidth * L::kWidth;
  const auto rest = L::mask(0, static_cast<int>(p.width - whole));
  const auto ahead =
      p.width * std::int64_t(sizeof(T)) < kAheadBytes ? p.width : kAheadBytes / std::int64_t(sizeof(T));
  std::int64_t k = 0;
  for (; k + 4 <= p.count; k += 4) {
    if (k + kRowsAhead + 4 <= p.known)
      for (int i = 0; i < 4; ++i) {
        const T* row = p.y + p.columns[k + kRowsAhead + i] * p.y_step;
        for (std::int64_t c = 0; c < ahead; c += kLine) __builtin_prefetch(row + c, 0, 3);
      }
    dots_of<L, 4>(p, k, whole, rest);
  }
  for (; k < p.count; ++k) dots_of<L, 1>(p, k, whole, rest);
}

}  // namespace penstock::spmm_loops
