#pragma once
#include <type_traits>
#include <utility>

#include "penstock/kernel/spmm/spmm_rows.hpp"

// The inner loops of SpMM on the CPU, which hold a row of Y in registers: kVecs vectors of it are the accumulators, and the
// entries of A's row are walked once for them. The compiler knows the width, so that Y is neither read nor written between
// two entries. The text is compiled once for each instruction set: `L` (its vectors) is a type of the including file's own,
// so that the linker keeps all versions.
namespace penstock::spmm_loops {

/// Each vector has kSums sums side by side: in a narrow product a single sum would have to wait for each addition to end.
template <class L, int kVecs, int kSums, bool kWhole, class T, class V>
struct Tile {
  using Vec = typename L::Vec;
  using Mask = typename L::Mask;
  static constexpr int w = L::kWidth;

  /// Which lanes of the tile's first and last vector count. If the tile is whole, all of them do.
  struct Edges {
    Mask first, last;
    bool joined = false;  // a row's last vector and the next row's first one share a line
  };

  static Vec load(const T* x, int i, [[maybe_unused]] const Edges& m) {
    if constexpr (!kWhole) {
      if (i == kVecs - 1) return L::load(m.last, x + i * w);
      if (i == 0) return L::load(m.first, x);
    }
    return L::load(x + i * w);
  }
  static void store(T* y, int i, [[maybe_unused]] const Edges& m, Vec v) {
    if constexpr (!kWhole) {
      if (i == kVecs - 1) return L::store(m.last, y + i * w, v);
      if (i == 0) return L::store(m.first, y, v);
    }
    L::store(y + i * w, v);
  }

  static inline __attribute__((always_inline)) void add(Vec* sum, [[maybe_unused]] const V* values, Offset k,
                                                        const T* x, const Edges& m) {
    if constexpr (std::is_same_v<V, One>) {
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) sum[i] = L::add(sum[i], load(x, i, m));
    } else {
      const auto v = L::all(static_cast<T>(values[k]));
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) sum[i] = L::fma(v, load(x, i, m), sum[i]);
    }
  }

  /// Writes whole lines around the cache. If rows of Y follow each other without a gap and do not begin with a line, a line
  /// holds the end of one row and the begin of the next: `carry` is the end, which waits for the begin.
  static inline __attribute__((always_inline)) void stream(const SpmmArgs<T, V>& p, std::int64_t r, T* out,
                                                           const Edges& m, Vec* sum, Vec& carry) {
    if constexpr (kWhole) {
#pragma GCC unroll 16
      for (int i = 0; i < kVecs; ++i) L::stream(out + i * w, sum[i]);
    } else {
#pragma GCC unroll 16
      for (int i = 1; i < kVecs - 1; ++i) L::stream(out + i * w, sum[i]);
      if (kVecs == 1 || !m.joined) {
        store(out, 0, m, sum[0]);
        if constexpr (kVecs > 1) store(out, kVecs - 1, m, sum[kVecs - 1]);
        return;
      }
      if (r == p.first) store(out, 0, m, sum[0]);
      else L::stream(out, L::blend(m.first, carry, sum[0]));
      if (r + 1 == p.last) store(out, kVecs - 1, m, sum[kVecs - 1]);
      else carry = sum[kVecs - 1];
    }
  }

  static void run(const SpmmArgs<T, V>& p, std::int64_t column, const Edges& m) {
    const T* const x = p.x + column;
    const Index* const indices = p.indices;
    const V* const values = p.values;
    const auto step = p.x_step;
    const auto alpha = L::all(p.alpha);
    const Offset known = p.ahead > 0 ? p.known - p.ahead : 0;
    T* out = p.out + column;
    auto carry = L::zero();
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
        for (int i = 0; i < kVecs; ++i) sums[0][i] = L::add(L::mul(beta, load(out, i, m)), sums[0][i]);
      }
      if (p.streams) stream(p, r, out, m, sums[0], carry);
      else {
#pragma GCC unroll 16
        for (int i = 0; i < kVecs; ++i) store(out, i, m, sums[0][i]);
      }
    }
  }

  /// The transposed product: row r of X, times alpha, stays in registers, and is added to the rows of Y that row r of A names.
  /// So entries of Y are read and written for every entry of A.
  static void scatter(const SpmmArgs<T, V>& p, std::int64_t column, const Edges& m) {
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
        for (int i = 0; i < kVecs; ++i) store(y, i, m, one(i));
      }
    }
  }
};

/// Calls f(tile, column, edges) for all columns. The first tile may begin `before` entries left of the first column and mask
/// them, so that its later vectors are aligned. Tiles have kMost vectors, or at most kFew. Two tiles of about equal width are
/// preferred to a wide one and a very narrow one.
template <class L, int kMost, int kFew, int kSums, class T, class V, class F>
void for_tiles(const SpmmArgs<T, V>& p, int before, F f) {
  constexpr int w = L::kWidth;
  for (std::int64_t column = -before; column < p.columns;) {
    const auto left = p.columns - column, vecs = (left + w - 1) / w;
    const auto n = vecs == kMost || vecs > 2 * kFew ? kMost : vecs > kFew ? (vecs + 1) / 2 : vecs;
    const int from = column < 0 ? before : 0;
    const int to = left >= n * w ? w : static_cast<int>(left - (n - 1) * w);
    const auto one = [&]<int kVecs>(std::integral_constant<int, kVecs>) {
      if (n != kVecs) return;
      using Whole = Tile<L, kVecs, kSums, true, T, V>;
      using Edged = Tile<L, kVecs, kSums, false, T, V>;
      const bool joined = from == to && column < 0 && p.out_step == p.columns;
      if (from == 0 && to == w) f(Whole(), column, typename Whole::Edges{});
      else
        f(Edged(), column,
          typename Edged::Edges{L::mask(from, w), L::mask(kVecs == 1 ? from : 0, to), joined});
    };
    [&]<int... i>(std::integer_sequence<int, i...>) { (one(std::integral_constant<int, i + 1>()), ...); }
    (std::make_integer_sequence<int, kFew>());
    if constexpr (kMost > kFew) one(std::integral_constant<int, kMost>());
    column += n * w;
  }
}

template <class L, int kMost, int kFew, class T, class V>
void spmm_rows(const SpmmArgs<T, V>& p) {
  int before = 0;
  if (p.peels) before = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.out) / sizeof(T) % L::kWidth);
  const auto run = [&]<class Tile>(Tile, std::int64_t column, const typename Tile::Edges& m) {
    Tile::run(p, column, m);
  };
  if (p.sums == 4) for_tiles<L, 2, 2, 4>(p, before, run);
  else if (p.sums == 2) for_tiles<L, 4, 4, 2>(p, before, run);
  else for_tiles<L, kMost, kFew, 1>(p, before, run);
  if (p.streams) L::fence();
}

template <class L, int kMost, int kFew, class T, class V>
void spmm_scatter(const SpmmArgs<T, V>& p) {
  for_tiles<L, kMost, kFew, 1>(p, 0,
                               [&]<class Tile>(Tile, std::int64_t column, const typename Tile::Edges& m) {
                                 Tile::scatter(p, column, m);
                               });
}

template <class L, class T>
void spmm_copy(const T* from, std::int64_t from_step, T* to, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r, from += from_step, to += columns)
    for (std::int64_t c = 0; c < columns; c += L::kWidth) L::stream(to + c, L::load(from + c));
  L::fence();
}

}  // namespace penstock::spmm_loops
