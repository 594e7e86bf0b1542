#pragma once
#include <cstdint>
#include <limits>

#include "penstock/kernel/spgemm/spgemm.hpp"

// Computes one row of C = A B by a group of threads that share memory. There are three ways to add its products up, each in
// two passes: one counts the entries of C, and one writes them. This file has the first and the last, spgemm_hash.hpp the hash
// tables. The text is constexpr, so that nvcc compiles it for warps and blocks (spgemm_group_gpu.cuh), and tests run it on
// threads of the CPU. A Group has rank() and size() (a power of two, at least 32), sync(), sums and scans, in which all threads
// take part and which are syncs too, atomic operations on the memory that it shares, and the processor's counts of bits. Its
// warps, of 32 neighbouring ranks, have shuffle(), shuffle_xor(), any() and ballot(), in which all threads of a warp take part.
namespace penstock::spgemm_group {

using Word = std::uint64_t;  // a word of a bitmap

inline constexpr int kTiny = 64;      // products that a warp compares all with all
inline constexpr int kGathered = 32;  // entries of A that a warp expands together
inline constexpr int kWordBits = 64;

/// The entries of A, and the matrix B that its rows are multiplied with.
template <class V>
struct Factors {
  CsrView<V> a, b;
  constexpr Offset begin(std::int64_t row) const { return a.indptr[row] - a.first_nnz; }
  constexpr Offset b_begin(Index k) const { return b.indptr[k] - b.first_nnz; }
  constexpr Offset b_size(Index k) const { return b.indptr[k + 1] - b.indptr[k]; }
};
template <class S>
using FactorsOf = Factors<typename S::value_type>;

/// The product of entry i of A and entry j of B. If a matrix has no values, its entries are ones.
template <class S, class T = typename S::value_type>
constexpr T product(const Factors<T>& f, Offset i, Offset j) {
  return S::mul(f.a.values ? f.a.values[i] : S::one(), f.b.values ? f.b.values[j] : S::one());
}

// ---- rows of at most kTiny products: compared all with all, added in the order of A's row ----

template <class P>
struct TinySpace {
  int starts[kGathered];
  Index columns[kTiny];
  bool first[kTiny];  // the first product of its column
  P products[kTiny];
};

/// Numbers the row's products, and returns how many there are. put(at, i, j) is called for product number `at`, of entry i of
/// A and entry j of B.
template <class Group, class V, class F>
constexpr int expand(const Group& g, const Factors<V>& f, Offset begin, Offset end, int* starts,
                     const F& put) {
  int base = 0;
  for (Offset from = begin; from < end; from += g.size()) {
    const Offset mine = from + g.rank();
    int total = 0;
    const int before = g.scan(mine < end ? static_cast<int>(f.b_size(f.a.indices[mine])) : 0, &total);
    starts[g.rank()] = before;
    g.sync();
    for (int t = g.rank(); t < total; t += g.size()) {
      int owner = 0;  // the last entry whose products begin at t or before; the entries after it begin later
      for (int step = g.size() / 2; step > 0; step /= 2)
        if (starts[owner + step] <= t) owner += step;
      const Offset i = from + owner;
      put(base + t, i, f.b_begin(f.a.indices[i]) + (t - starts[owner]));
    }
    base += total;
    g.sync();
  }
  return base;
}

/// Marks the first product of every column, and returns how many columns there are.
template <class Group, class Space>
constexpr int mark_first(const Group& g, Space& s, int products) {
  int mine = 0;
  for (int t = g.rank(); t < products; t += g.size()) {
    bool first = true;
    for (int o = 0; o < t && first; ++o) first = s.columns[o] != s.columns[t];
    s.first[t] = first;
    mine += first;
  }
  return g.sum(mine);
}

template <class Group, class V, class Space>
constexpr int count_tiny(const Group& g, const Factors<V>& f, Offset begin, Offset end, Space& s) {
  const int n =
      expand(g, f, begin, end, s.starts, [&](int at, Offset, Offset j) { s.columns[at] = f.b.indices[j]; });
  return mark_first(g, s, n);
}

template <class S, class Group, class Space, class P>
constexpr void write_tiny(const Group& g, const FactorsOf<S>& f, Offset begin, Offset end, Space& s,
                          Index* columns, P* values) {
  const int n = expand(g, f, begin, end, s.starts, [&](int at, Offset i, Offset j) {
    s.columns[at] = f.b.indices[j];
    if constexpr (!is_pattern<P>) s.products[at] = product<S>(f, i, j);
  });
  mark_first(g, s, n);
  for (int t = g.rank(); t < n; t += g.size()) {
    if (!s.first[t]) continue;
    int at = 0;
    for (int o = 0; o < n; ++o) at += s.first[o] && s.columns[o] < s.columns[t];
    columns[at] = s.columns[t];
    if constexpr (!is_pattern<P>) {
      P sum = s.products[t];
      for (int o = t + 1; o < n; ++o)
        if (s.columns[o] == s.columns[t]) sum = S::add(sum, s.products[o]);
      values[at] = sum;
    }
  }
}

// ---- longer rows ----

/// How many entries of A are looked at together. Rows of B among them that are too long for a few lanes wait in a queue.
inline constexpr int kWalked = 256;
struct LongRows {
  int count;
  int entries[kWalked];
};

/// How many lanes take an entry of A. It follows from the mean length of some of the rows of B that are needed.
template <class V>
constexpr int lanes_for(const Factors<V>& f, Offset begin, Offset end) {
  const Offset count = end - begin < 8 ? end - begin : 8, step = count > 0 ? (end - begin) / count : 0;
  Offset products = 0;
  for (Offset s = 0; s < count; ++s) products += f.b_size(f.a.indices[begin + s * step]);
  int lanes = 4;
  while (lanes < 32 && count * lanes < products) lanes *= 2;
  return lanes;
}

/// Calls visit(i, j) for all products of the row. A few lanes take an entry of A together; if that entry's row of B is very
/// long, the whole group takes it. Ends with a sync.
template <class Group, class V, class F>
constexpr void walk(const Group& g, const Factors<V>& f, Offset begin, Offset end, LongRows& longs,
                    const F& visit) {
  const int lanes = lanes_for(f, begin, end);
  const int team = g.rank() / lanes, lane = g.rank() % lanes, teams = g.size() / lanes;
  const Offset most = teams > 1 ? Offset(64) * lanes : std::numeric_limits<Offset>::max();
  for (Offset from = begin; from < end; from += kWalked) {
    const int here = static_cast<int>(end - from < kWalked ? end - from : kWalked);
    if (g.rank() == 0) longs.count = 0;
    g.sync();
    for (int e = team; e < here; e += teams) {
      const Index k = f.a.indices[from + e];
      const Offset first = f.b_begin(k), size = f.b_size(k);
      if (size <= most) {
        for (Offset j = lane; j < size; j += lanes) visit(from + e, first + j);
      } else if (lane == 0) {
        longs.entries[g.atomic_add(&longs.count, 1)] = e;
      }
    }
    g.sync();
    for (int l = 0; l < longs.count; ++l) {
      const Offset i = from + longs.entries[l];
      const Index k = f.a.indices[i];
      const Offset first = f.b_begin(k), size = f.b_size(k);
      for (Offset j = g.rank(); j < size; j += g.size()) visit(i, first + j);
    }
    g.sync();
  }
}

// ---- a bitmap of B's columns, `window` of them (a multiple of 64) at a time: where an entry goes is how many bits are
// set before it ----

struct Bitmap {
  Word* words;            // window / 64
  std::uint32_t* before;  // window / 64: bits in earlier words
  std::int64_t window;
};
constexpr std::int64_t bytes_per_word(bool writing) { return writing ? 12 : 8; }

/// Columns that are marked in turns when only their number counts: one in each of 32 halves of words, then their next bits.
/// Neighbouring columns, which rows of B often have, would be bits of one half, and 32 lanes that set them would wait for each
/// other.
inline constexpr int kSpread = 1024;

/// Marks the row's columns in [low, low + span), with Ordered each at its place. Ends with a sync.
template <bool Ordered, class Group, class V>
constexpr void mark(const Group& g, const Factors<V>& f, Offset begin, Offset end, LongRows& longs,
                    const Bitmap& map, std::int64_t low, std::int64_t span) {
  const auto words = static_cast<int>((span + kWordBits - 1) / kWordBits);
  for (int w = g.rank(); w < words; w += g.size()) map.words[w] = 0;
  g.sync();
  walk(g, f, begin, end, longs, [&](Offset, Offset j) {
    const auto c = static_cast<std::uint64_t>(f.b.indices[j] - low);
    if (c >= static_cast<std::uint64_t>(span)) return;
    auto at = c;
    if constexpr (!Ordered) {
      const auto turn = c / kSpread * kSpread;
      if (turn + kSpread <= static_cast<std::uint64_t>(span)) at = turn + c % 32 * 32 + c / 32 % 32;
    }
    g.set_bit(&map.words[at / kWordBits], static_cast<int>(at % kWordBits));
  });
}

template <class Group, class V>
constexpr Offset count_bitmap(const Group& g, const Factors<V>& f, Offset begin, Offset end, LongRows& longs,
                              const Bitmap& map) {
  Offset count = 0;
  for (std::int64_t low = 0; low < f.b.cols; low += map.window) {
    const auto span = f.b.cols - low < map.window ? f.b.cols - low : map.window;
    mark<false>(g, f, begin, end, longs, map, low, span);
    const auto words = static_cast<int>((span + kWordBits - 1) / kWordBits);
    int mine = 0;
    for (int w = g.rank(); w < words; w += g.size()) mine += g.ones(map.words[w]);
    count += g.sum(mine);
  }
  return count;
}

template <class S, class Group, class P>
constexpr void write_bitmap(const Group& g, const FactorsOf<S>& f, Offset begin, Offset end, LongRows& longs,
                            const Bitmap& map, Index* columns, P* values) {
  Offset base = 0;
  for (std::int64_t low = 0; low < f.b.cols; low += map.window) {
    const auto span = f.b.cols - low < map.window ? f.b.cols - low : map.window;
    mark<true>(g, f, begin, end, longs, map, low, span);
    const auto words = static_cast<int>((span + kWordBits - 1) / kWordBits);
    const int share = (words + g.size() - 1) / g.size();
    const int first = g.rank() * share, last = first + share < words ? first + share : words;
    int mine = 0, total = 0;
    for (int w = first; w < last; ++w) mine += g.ones(map.words[w]);
    int at = g.scan(mine, &total);
    for (int w = first; w < last; ++w) {
      map.before[w] = static_cast<std::uint32_t>(at);
      at += g.ones(map.words[w]);
    }
    if constexpr (!is_pattern<P>)
      for (int e = g.rank(); e < total; e += g.size()) values[base + e] = S::zero();
    g.sync();
    for (int w = g.rank(); w < words; w += g.size()) {
      Offset to = base + map.before[w];
      for (Word word = map.words[w]; word != 0; word &= word - 1)
        columns[to++] = static_cast<Index>(low + std::int64_t(w) * kWordBits + g.lowest(word));
    }
    if constexpr (!is_pattern<P>)
      walk(g, f, begin, end, longs, [&](Offset i, Offset j) {
        const auto c = static_cast<std::uint64_t>(f.b.indices[j] - low);
        if (c >= static_cast<std::uint64_t>(span)) return;
        const auto w = c / kWordBits;
        const auto earlier = map.words[w] & ((Word(1) << (c % kWordBits)) - 1);
        g.template add<S>(&values[base + map.before[w] + g.ones(earlier)], product<S>(f, i, j));
      });
    base += total;
    g.sync();  // all have read the words before they are cleared for the next window
  }
}

}  // namespace penstock::spgemm_group
