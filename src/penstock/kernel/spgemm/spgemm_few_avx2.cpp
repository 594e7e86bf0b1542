// A bitonic sort (Batcher, AFIPS 1968) of up to eight registers of eight keys: 64 keys take some 540 instructions without a
// branch.
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "penstock/kernel/spgemm/spgemm_few.hpp"

namespace penstock::avx2 {
namespace {

using Vec = __m256i;

/// Each lane and its partner: the larger one goes to the lanes of the mask.
template <int Larger>
[[gnu::always_inline]] inline Vec exchanged(Vec v, Vec partner) {
  return _mm256_blend_epi32(_mm256_min_epu32(v, partner), _mm256_max_epu32(v, partner), Larger);
}

/// Ascending, of a bitonic register
[[gnu::always_inline]] inline Vec merged(Vec v) {
  v = exchanged<0b11110000>(v, _mm256_permute2x128_si256(v, v, 1));
  v = exchanged<0b11001100>(v, _mm256_shuffle_epi32(v, 0x4E));
  return exchanged<0b10101010>(v, _mm256_shuffle_epi32(v, 0xB1));
}

[[gnu::always_inline]] inline Vec sorted(Vec v) {
  v = exchanged<0b01100110>(v, _mm256_shuffle_epi32(v, 0xB1));
  v = exchanged<0b00111100>(v, _mm256_shuffle_epi32(v, 0x4E));
  v = exchanged<0b01011010>(v, _mm256_shuffle_epi32(v, 0xB1));
  return merged(v);
}

[[gnu::always_inline]] inline Vec reversed(Vec v) {
  return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

/// Ascending, of N registers that are bitonic together
template <int N>
[[gnu::always_inline]] inline void merge(Vec* v) {
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
[[gnu::always_inline]] inline void sort(Vec* v) {
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

/// As sort, of so many registers that they lie in memory
template <int N>
[[gnu::noinline]] void merge_many(Vec* v) {
  if constexpr (N <= 8) {
    merge<N>(v);
  } else {
    for (int i = 0; i < N / 2; ++i) {
      const Vec low = _mm256_min_epu32(v[i], v[i + N / 2]);
      v[i + N / 2] = _mm256_max_epu32(v[i], v[i + N / 2]);
      v[i] = low;
    }
    merge_many<N / 2>(v), merge_many<N / 2>(v + N / 2);
  }
}
template <int N>
[[gnu::noinline]] void sort_many(Vec* v) {
  if constexpr (N <= 8) {
    sort<N>(v);
  } else {
    sort_many<N / 2>(v), sort_many<N / 2>(v + N / 2);
    for (int i = 0; i < N / 4; ++i) {
      const Vec first = reversed(v[N / 2 + i]);
      v[N / 2 + i] = reversed(v[N - 1 - i]), v[N - 1 - i] = first;
    }
    merge_many<N>(v);
  }
}

constexpr int kChunk = 1024;  // products that are expanded at a time: they stay in the first-level cache

template <class T>
struct Chunk {
  Index columns[kChunk + kFew], sorted[kChunk + kFew];
  std::int32_t places[kChunk + kFew];  // of sorted products in `values`
  std::int32_t same[kChunk + kFew];  // -1 where a sorted product has the column of the one before it, else 0
  T values[kChunk + kFew];
};

void scaled(const double* from, double a, double* to) {
  const auto f = _mm256_set1_pd(a);
  _mm256_storeu_pd(to, _mm256_mul_pd(f, _mm256_loadu_pd(from)));
  _mm256_storeu_pd(to + 4, _mm256_mul_pd(f, _mm256_loadu_pd(from + 4)));
}
void scaled(const float* from, float a, float* to) {
  _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_set1_ps(a), _mm256_loadu_ps(from)));
}

/// Lists the products of entries [e, stop) of A, one after the other, eight at a time: what is written too much is overwritten.
template <bool Ones, bool Scattered, class T>
void expand(const FewRows<T>& p, Offset e, Offset stop, Chunk<T>& chunk) {
  constexpr Offset kFar = 32, kNear = 16;  // entries of A between a prefetch and its use
  const auto* const a_columns = p.a_columns;
  const auto* const a_values = p.a_values;
  const auto* const indptr = p.b_indptr;
  const auto* const b_columns = p.b_columns;
  const auto* const b_values = p.b_values;
  const auto last_eight = p.b_end - 8;
  auto* columns = chunk.columns;
  auto* values = chunk.values;
  for (; e < stop; ++e) {
    if (Scattered && e + kFar < p.a_end) {
      __builtin_prefetch(indptr + a_columns[e + kFar]);
      const auto next = indptr[a_columns[e + kNear]];
      __builtin_prefetch(b_columns + next);
      if (!Ones) __builtin_prefetch(b_values + next);
    }
    const auto row = a_columns[e];
    const T a = a_values ? a_values[e] : T(1);
    auto k = indptr[row];
    const auto length = indptr[row + 1] - k;
    for (Offset done = 0; done < length; done += 8, k += 8) {
      if (k <= last_eight) {
        _mm256_storeu_si256(reinterpret_cast<Vec*>(columns + done),
                            _mm256_loadu_si256(reinterpret_cast<const Vec*>(b_columns + k)));
        if (Ones) std::fill_n(values + done, 8, a);
        else scaled(b_values + k, a, values + done);
      } else {
        for (Offset i = 0; i < std::min<Offset>(8, length - done); ++i) {
          columns[done + i] = b_columns[k + i];
          values[done + i] = Ones ? a : a * b_values[k + i];
        }
      }
    }
    columns += length, values += length;
  }
}

template <class T>
void expand(const FewRows<T>& p, Offset e, Offset stop, Chunk<T>& chunk) {
  if (!p.b_values) expand<true, true>(p, e, stop, chunk);
  else if (p.scattered) expand<false, true>(p, e, stop, chunk);
  else expand<false, false>(p, e, stop, chunk);
}

/// Sorts by column the n products of a row that begin at `from`, in N registers, and returns how many columns they have.
template <int N, class T>
[[gnu::always_inline]] inline int sort_row(Chunk<T>& chunk, int from, int n) {
  const auto lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), ones = _mm256_set1_epi32(-1);
  const auto size = _mm256_set1_epi32(n);
  const auto at = [&](auto* list, int i) { return reinterpret_cast<Vec*>(list + from) + i; };
  Vec v[N];
  auto number = lanes;
  for (int i = 0; i < N; ++i, number = _mm256_add_epi32(number, _mm256_set1_epi32(8))) {
    const auto column = _mm256_loadu_si256(at(chunk.columns, i));
    const auto none = _mm256_xor_si256(_mm256_cmpgt_epi32(size, number), ones);
    v[i] = _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi32(column, kFewBits), number), none);
  }
  sort<N>(v);
  const auto rotation = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
  auto before = ones;  // columns, moved by one lane
  std::uint64_t same = 0;
  for (int i = 0; i < N; ++i) {
    const auto place = _mm256_and_si256(v[i], _mm256_set1_epi32(kFew - 1));
    _mm256_storeu_si256(at(chunk.places, i), _mm256_add_epi32(place, _mm256_set1_epi32(from)));
    const auto column = _mm256_srli_epi32(v[i], kFewBits),
               moved = _mm256_permutevar8x32_epi32(column, rotation);
    const auto equal = _mm256_cmpeq_epi32(column, _mm256_blend_epi32(moved, before, 1));
    _mm256_storeu_si256(at(chunk.sorted, i), column), _mm256_storeu_si256(at(chunk.same, i), equal);
    same |= static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal))) << (8 * i);
    before = moved;
  }
  return n - std::popcount(same & (n < 64 ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0}));
}

/// a where `same` is -1, else 0
[[gnu::always_inline]] inline double if_same(double a, std::int32_t same) {
  return _mm_cvtsd_f64(_mm_and_pd(_mm_set_sd(a), _mm_castsi128_pd(_mm_cvtsi64_si128(same))));
}
[[gnu::always_inline]] inline float if_same(float a, std::int32_t same) {
  return _mm_cvtss_f32(_mm_and_ps(_mm_set_ss(a), _mm_castsi128_ps(_mm_cvtsi32_si128(same))));
}

/// Adds up sorted products of rows: those from `from` on, whose first entry is entry `out`.
template <class T>
struct Sum {
  int from;
  std::int64_t out;
  T sum = 0;
  [[gnu::always_inline]] inline void add(const Chunk<T>& chunk, int i, Index* columns, T* values) {
    const auto same = chunk.same[from + i];
    sum = if_same(sum, same) + chunk.values[chunk.places[from + i]];
    out += 1 + same;
    columns[out] = chunk.sorted[from + i], values[out] = sum;
  }
};

/// Of all n products in a chunk, of which those from `half` on belong to other rows than those before it: an addition waits for the
/// one before it, so two go on side by side.
template <class T>
void sum_rows(const Chunk<T>& chunk, Sum<T> first, Sum<T> second, int n, Index* columns, T* values) {
  const int a = second.from, b = n - a, both = std::min(a, b);
  for (int i = 0; i < both; ++i) first.add(chunk, i, columns, values), second.add(chunk, i, columns, values);
  for (int i = both; i < a; ++i) first.add(chunk, i, columns, values);
  for (int i = both; i < b; ++i) second.add(chunk, i, columns, values);
}

}  // namespace

void sort_few(std::uint32_t* keys, int n) {
  const int width = n <= 8 ? 8 : std::bit_ceil(static_cast<unsigned>(n));
  std::fill(keys + n, keys + width, ~std::uint32_t{0});
  if (n <= 8) return sort_keys_of<1>(keys);
  if (n <= 16) return sort_keys_of<2>(keys);
  if (n <= 32) return sort_keys_of<4>(keys);
  if (n <= 64) return sort_keys_of<8>(keys);
  auto* v = reinterpret_cast<Vec*>(keys);
  if (n <= 128) return sort_many<16>(v);
  if (n <= 256) return sort_many<32>(v);
  sort_many<64>(v);
}

template <class T>
std::int64_t few_rows(const FewRows<T>& args, std::int64_t row, std::int64_t last, Offset& before,
                      Offset& count) {
  const FewRows<T> p = args;  // a copy: no store can change it
  Chunk<T> chunk;
  auto total = count;
  while (row < last) {
    auto stop = row;
    for (auto at = before; stop < last; at = p.products[++stop])
      if (p.products[stop + 1] - before > kChunk || p.products[stop + 1] - at > kFew) break;
    if (stop == row) break;
    expand(p, p.a_indptr[row], p.a_indptr[stop], chunk);
    Sum<T> first{0, total - 1}, second{0, total - 1};
    const auto half = (p.products[stop] - before) / 2;
    int from = 0;
    for (; row < stop; ++row) {
      const auto n = static_cast<int>(p.products[row + 1] - before);
      if (from <= half) second = {from, total - 1};
      total += n <= 8    ? sort_row<1>(chunk, from, n)
               : n <= 16 ? sort_row<2>(chunk, from, n)
               : n <= 32 ? sort_row<4>(chunk, from, n)
                         : sort_row<8>(chunk, from, n);
      p.ends[row] = total;
      from += n, before += n;
    }
    sum_rows(chunk, first, second, from, p.columns, p.values);
  }
  count = total;
  return row;
}

template std::int64_t few_rows<float>(const FewRows<float>&, std::int64_t, std::int64_t, Offset&, Offset&);
template std::int64_t few_rows<double>(const FewRows<double>&, std::int64_t, std::int64_t, Offset&, Offset&);

}  // namespace penstock::avx2
