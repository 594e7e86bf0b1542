#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Plain sums of rows [first, last) of a view, written to out[0 ..): the innermost loop of the row-wise algorithms, with one
/// version for each instruction set. Files that are compiled for an instruction set see raw pointers only, so that no inline
/// function of a common header is ever compiled for more than the baseline.
template <class T, class V>
struct RowsArgs {
  const Offset* indptr;
  const Index* indices;  // already moved by first_nnz: indices[indptr[r]] is row r's first
  const V* values;
  const T* x;
  T* out;
  std::int64_t first, last;
  // Moved by first_nnz, too; null if there is nothing to prefetch.
  const Index* ahead_indices = nullptr;
  const V* ahead_values = nullptr;
};

/// Prefetches the lines of the arrays `ahead` at the places of entries [k, end) into the second-level cache. It never faults.
template <class Args>
inline __attribute__((always_inline)) void read_ahead(const Args& p, Offset k, Offset end) {
  if (!p.ahead_indices) return;
  constexpr Offset kIndices = 64 / sizeof(Index);
  for (Offset i = k; i < end; i += kIndices) __builtin_prefetch(p.ahead_indices + i, 0, 2);
  using V = std::remove_cvref_t<decltype(*p.ahead_values)>;
  if constexpr (!is_pattern<V>)
    for (Offset i = k; i < end; i += Offset(64 / sizeof(V))) __builtin_prefetch(p.ahead_values + i, 0, 2);
}

/// Whether rows have fewer than 8 entries on average, and most of them as many as a row at most `most` before, so that the processor
/// can predict where they end: rows of a grid are like the one before, those of circuits and of several unknowns a point come in
/// turns. It looks at the first 64 rows, of which three quarters must be like that one.
inline __attribute__((always_inline)) bool short_and_alike(const Offset* indptr, std::int64_t rows,
                                                           std::int64_t most = 6) {
  constexpr Offset kShort = 8;
  constexpr std::int64_t kLooked = 64;
  if (indptr[rows] - indptr[0] >= kShort * rows) return false;
  const auto looked = rows < kLooked ? rows : kLooked;
  const auto periods = looked > 4 * most ? most : 1;
  for (std::int64_t period = 1; period <= periods; ++period) {
    std::int64_t alike = 0;
    for (auto r = period; r < looked; ++r)
      alike += indptr[r + 1] - indptr[r] == indptr[r + 1 - period] - indptr[r - period];
    if (4 * alike >= 3 * (looked - period)) return true;
  }
  return false;
}

template <class T, class V>
using RowsKernel = void (*)(const RowsArgs<T, V>&);

/// The best version for this CPU. (T, V) are (float, float), (double, double), (float, One), (double, One),
/// (double, float).
template <class T, class V>
RowsKernel<T, V> rows_kernel();

namespace avx2 {
template <class T, class V>
void rows(const RowsArgs<T, V>&);
}
namespace avx512 {
template <class T, class V>
void rows(const RowsArgs<T, V>&);
}

}  // namespace penstock

#define PENSTOCK_FOR_EACH_ROWS_KERNEL(X) \
  X(float, float)                        \
  X(double, double)                      \
  X(float, One)                          \
  X(double, One)                         \
  X(double, float)
