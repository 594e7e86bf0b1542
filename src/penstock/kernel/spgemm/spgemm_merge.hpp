#pragma once
#include <cstdint>
#include <limits>

#include "penstock/kernel/spgemm/spgemm_group.hpp"

// Computes a short row of C = A B by one thread: it merges the rows of B that the row of A names, which must strictly ascend. The
// thread keeps the next column of each of them in registers, takes the least, and adds up the products of all rows that have it,
// in the order of A's row. nvcc compiles the text for GPUs, and tests run it on the CPU.
namespace penstock::spgemm_merge {

using spgemm_group::Factors;

inline constexpr int kFewLists = 8;         // entries of A in rows of the first kind,
inline constexpr int kMostLists = 16;       // and of the second
inline constexpr Offset kProducts = 128;    // at most, in a row that one thread takes,
inline constexpr Offset kFewProducts = 16;  // and in rows that are few

/// Whether one thread takes a row with so many entries of A and so many products.
constexpr bool takes(Offset lists, Offset products) { return lists <= kMostLists && products <= kProducts; }

inline constexpr Index kNone = std::numeric_limits<Index>::max();  // no matrix has such a column

/// Entries [begin, end) of A, at most K, and where the merge is in the row of B that each of them names. `most` (at most K) is no
/// less than end - begin; it may be larger, so that neighbouring threads take the same steps.
template <int K>
struct Merge {
  Offset at[K];     // the next entry of B
  Index column[K];  // its column, or kNone behind the last one
  std::int32_t left[K];

  template <class V>
  constexpr void open(const Factors<V>& f, Offset begin, Offset end, int most) {
    for (int k = 0; k < K; ++k) {
      at[k] = 0, left[k] = 0, column[k] = kNone;
      if (k >= most || begin + k >= end) continue;
      const Index row = f.a.indices[begin + k];
      at[k] = f.b_begin(row), left[k] = static_cast<std::int32_t>(f.b_size(row));
      if (left[k] > 0) column[k] = f.b.indices[at[k]];
    }
  }
  /// The least column that was not taken yet, or kNone.
  constexpr Index least() const {
    Index c = column[0];
    for (int k = 1; k < K; ++k) c = column[k] < c ? column[k] : c;
    return c;
  }
  /// Takes all entries of a column, which is the least one: put(k, entry of B).
  template <class V, class F>
  constexpr void take(const Factors<V>& f, Index c, int most, const F& put) {
    for (int k = 0; k < K; ++k) {
      if (k >= most || column[k] != c) continue;
      put(k, at[k]);
      ++at[k], --left[k];
      column[k] = left[k] > 0 ? f.b.indices[at[k]] : kNone;
    }
  }
};

/// The entries of a row of C.
template <int K, class V>
constexpr int count(const Factors<V>& f, Offset begin, Offset end, int most) {
  Merge<K> m{};
  m.open(f, begin, end, most);
  int n = 0;
  for (Index c = m.least(); c != kNone; c = m.least()) {
    m.take(f, c, most, [](int, Offset) {});
    ++n;
  }
  return n;
}

/// The values of a row of A, and the sum of the products that have one column.
template <class S, int K>
struct Products {
  using T = typename S::value_type;
  T factor[K];

  constexpr void open(const Factors<T>& f, Offset begin, Offset end, int most) {
    for (int k = 0; k < K; ++k)
      factor[k] = k < most && begin + k < end && f.a.values ? f.a.values[begin + k] : S::one();
  }
  constexpr T take(const Factors<T>& f, Merge<K>& m, Index c, int most) const {
    T sum = S::zero();
    bool first = true;
    m.take(f, c, most, [&](int k, Offset entry) {
      const T p = S::mul(factor[k], f.b.values ? f.b.values[entry] : S::one());
      sum = first ? p : S::add(sum, p);
      first = false;
    });
    return sum;
  }
};

}  // namespace penstock::spgemm_merge
