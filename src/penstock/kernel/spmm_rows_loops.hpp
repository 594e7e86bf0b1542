#pragma once
#include <type_traits>

#include "penstock/kernel/spmm_rows.hpp"

// A row of Y in registers: kVecs vectors of it are the accumulators, and the row's entries are walked once for them. The
// width is known to the compiler, so that nothing of Y is read or written between two entries. Compiled once an
// instruction set: `L` (its vectors) is a type of the including file's own, so that no version replaces another.
namespace penstock::spmm_loops {

template <class L, int kVecs, bool kWhole, class T, class V>
struct Tile {
  using Vec = typename L::Vec;
  using Mask = typename L::Mask;
  static constexpr int w = L::kWidth;
  // Narrow tiles keep several sums of a vector in flight: one alone would wait for each addition to end.
  static constexpr int kSums = kVecs == 1 ? 4 : kVecs <= 3 ? 2 : 1;

  static Vec load(const T* x, int i, [[maybe_unused]] const Mask& m) {
    if constexpr (!kWhole)
      if (i == kVecs - 1) return L::load(m, x + i * w);
    return L::load(x + i * w);
  }

  static inline __attribute__((always_inline)) void add(Vec* sum, [[maybe_unused]] const V* values, Offset k,
                                                        const T* x, const Mask& m) {
    if constexpr (std::is_same_v<V, One>) {
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) sum[i] = L::add(sum[i], load(x, i, m));
    } else {
      const auto v = L::all(static_cast<T>(values[k]));
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) sum[i] = L::fma(v, load(x, i, m), sum[i]);
    }
  }

  static void run(const SpmmArgs<T, V>& p, std::int64_t column, const Mask& m) {
    const T* const x = p.x + column;
    const Index* const indices = p.indices;
    const V* const values = p.values;
    const auto step = p.x_step;
    const auto alpha = L::all(p.alpha);
    const Offset known = p.ahead > 0 ? p.known - p.ahead : 0;
    T* out = p.out + column;
    Offset k = p.indptr[p.first];
    for (auto r = p.first; r < p.last; ++r, out += p.out_step) {
      const Offset end = p.indptr[r + 1];
      Vec sums[kSums][kVecs];
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s)
#pragma GCC unroll 16
        for (int i = 0; i < kVecs; ++i) sums[s][i] = L::zero();
      const auto prefetch = [&](Offset j) {
        const auto* line = reinterpret_cast<const char*>(x + indices[j + p.ahead] * step);
#pragma GCC unroll 16
        for (int i = 0; i < kVecs * w * int(sizeof(T)); i += 64) __builtin_prefetch(line + i, 0, 3);
      };
      for (const Offset stop = end < known ? end : known; k + kSums <= stop; k += kSums) {
#pragma GCC unroll 4
        for (int s = 0; s < kSums; ++s) {
          prefetch(k + s);
          add(sums[s], values, k + s, x + indices[k + s] * step, m);
        }
      }
      for (; k + kSums <= end; k += kSums) {
#pragma GCC unroll 4
        for (int s = 0; s < kSums; ++s) add(sums[s], values, k + s, x + indices[k + s] * step, m);
      }
      if constexpr (kSums > 1)
        for (; k < end; ++k) add(sums[0], values, k, x + indices[k] * step, m);
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) {
        auto sum = sums[0][i];
        if constexpr (kSums == 2) sum = L::add(sum, sums[1][i]);
        if constexpr (kSums == 4) sum = L::add(L::add(sum, sums[1][i]), L::add(sums[2][i], sums[3][i]));
        sums[0][i] = L::mul(alpha, sum);
      }
      if (p.beta != T(0)) {
        const auto beta = L::all(p.beta);
#pragma GCC unroll 16
        for (int i = 0; i < kVecs; ++i)
          sums[0][i] = L::add(L::mul(beta, load(out, i, m)), sums[0][i]);
      }
      if (kWhole && p.streams) {
#pragma GCC unroll 16
        for (int i = 0; i < kVecs; ++i) L::stream(out + i * w, sums[0][i]);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < kVecs - 1; ++i) L::store(out + i * w, sums[0][i]);
        if constexpr (kWhole) L::store(out + (kVecs - 1) * w, sums[0][kVecs - 1]);
        else L::store(m, out + (kVecs - 1) * w, sums[0][kVecs - 1]);
      }
    }
  }

  /// The transposed product: row r of X, times alpha, stays in registers and is added to the rows of Y that row r of A
  /// names. Their entries are read and written for every entry of A.
  static void scatter(const SpmmArgs<T, V>& p, std::int64_t column, const Mask& m) {
    const Index* const indices = p.indices;
    const V* const values = p.values;
    const auto step = p.out_step;
    const auto alpha = L::all(p.alpha);
    T* const out = p.out + column;
    const T* x = p.x + p.first * p.x_step + column;
    const Offset known = p.ahead > 0 ? p.known - p.ahead : 0;
    Offset k = p.indptr[p.first];
    for (auto r = p.first; r < p.last; ++r, x += p.x_step) {
      Vec mine[kVecs];
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) mine[i] = L::mul(alpha, load(x, i, m));
      for (const Offset end = p.indptr[r + 1]; k < end; ++k) {
        if (k < known) {
          const auto* line = reinterpret_cast<const char*>(out + indices[k + p.ahead] * step);
#pragma GCC unroll 16
          for (int i = 0; i < kVecs * w * int(sizeof(T)); i += 64) __builtin_prefetch(line + i, 1, 3);
        }
        T* y = out + indices[k] * step;
        const auto one = [&](int i) {
          if constexpr (std::is_same_v<V, One>) return L::add(load(y, i, m), mine[i]);
          else return L::fma(L::all(static_cast<T>(values[k])), mine[i], load(y, i, m));
        };
#pragma GCC unroll 16
        for (int i = 0; i < kVecs - 1; ++i) L::store(y + i * w, one(i));
        if constexpr (kWhole) L::store(y + (kVecs - 1) * w, one(kVecs - 1));
        else L::store(m, y + (kVecs - 1) * w, one(kVecs - 1));
      }
    }
  }
};

/// f(tile, column, mask) for all columns, in tiles of kMost vectors and then of what is left, the last vector masked.
template <class L, int kMost, class T, class V, class F>
inline __attribute__((always_inline)) void for_tiles(const SpmmArgs<T, V>& p, F f) {
  constexpr int w = L::kWidth;
  const auto none = L::mask(w);
  std::int64_t column = 0;
  for (; p.columns - column >= kMost * w; column += kMost * w) f(Tile<L, kMost, true, T, V>(), column, none);
  const auto rest = [&]<int kVecs>(auto& self, std::integral_constant<int, kVecs>) {
    const auto left = p.columns - column;
    if (left >= kVecs * w) {
      f(Tile<L, kVecs, true, T, V>(), column, none);
      column += kVecs * w;
      if (left == kVecs * w) return;
      return self(self, std::integral_constant<int, kVecs>());
    }
    if (left > (kVecs - 1) * w)
      return f(Tile<L, kVecs, false, T, V>(), column, L::mask(static_cast<int>(left - (kVecs - 1) * w)));
    if constexpr (kVecs > 1) self(self, std::integral_constant<int, kVecs - 1>());
  };
  rest(rest, std::integral_constant<int, (kMost < 8 ? kMost : 8)>());
}

template <class L, int kMost, class T, class V>
void spmm_rows(const SpmmArgs<T, V>& p) {
  for_tiles<L, kMost>(p, [&](auto tile, std::int64_t column, const typename L::Mask& m) { tile.run(p, column, m); });
  if (p.streams) L::fence();
}

template <class L, int kMost, class T, class V>
void spmm_scatter(const SpmmArgs<T, V>& p) {
  for_tiles<L, kMost>(p, [&](auto tile, std::int64_t column, const typename L::Mask& m) { tile.scatter(p, column, m); });
}

}  // namespace penstock::spmm_loops
