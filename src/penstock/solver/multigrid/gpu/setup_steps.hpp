#pragma once
#include <cstdint>

#include "penstock/kernel/structure/entry_steps.hpp"
#include "penstock/kernel/structure/steps.hpp"
#include "penstock/solver/multigrid/shared_steps.hpp"

// The steps of a level's set-up in a device's memory (kernel/structure/steps.hpp): a call has one row, vertex, aggregate or entry.
// Lengths of rows become offsets by prefix_sums: the steps that count are called once more, with i = rows.
namespace penstock {

constexpr bool finite_number(double v) { return v - v == 0; }

/// 1 / a_ii, and 0 where a_ii is zero.
template <class T>
struct InvertDiagonal {
  CsrView<T> a;
  T* out;
  constexpr void operator()(std::int64_t i) const {
    double d = 0;
    for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k)
      if (a.indices[k] == i) d += double(a.values[k]);
    out[i] = T(d == 0 ? 0 : 1 / d);
  }
};

/// The sum of absolute values of a row, times inverse[i]; the inverse of the sum where `inverse` is null, 0 of a zero row.
template <class T, class Out>
struct SumRow {
  CsrView<T> a;
  const T* inverse;
  Out* out;
  constexpr void operator()(std::int64_t i) const {
    double s = 0;
    for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k) {
      const auto v = double(a.values[k]);
      s += v < 0 ? -v : v;
    }
    if (inverse) s *= double(inverse[i]);
    else s = s == 0 ? 0 : 1 / s;
    out[i] = Out(T(s));  // infinity where T does not hold it
  }
};

/// The largest of the numbers c, c + chunks, c + 2 chunks ...; 0 if none is positive.
struct LargestOfChunk {
  const double* in;
  std::int64_t n, chunks;
  double* out;
  constexpr void operator()(std::int64_t c) const {
    double most = 0;
    for (auto i = c; i < n; i += chunks) most = in[i] > most ? in[i] : most;
    out[c] = most;
  }
};

/// out = scale in, in float32
struct NarrowValues {
  const double* in;
  double scale;
  float* out;
  constexpr void operator()(std::int64_t k) const { out[k] = float(scale * in[k]); }
};

/// The vectors with which Lanczos' method starts, or two for a test of symmetry where `inverse` is null.
template <class T>
struct StartVectors {
  const T* inverse;
  T *first, *second;
  constexpr void operator()(std::int64_t i) const {
    first[i] = inverse && inverse[i] == 0 ? T(0) : T(start_entry(i));
    second[i] = inverse ? T(0) : T(start_entry(i, true));
  }
};

template <class T>
struct NotPositive {
  const T* inverse;
  constexpr bool operator()(std::int64_t i) const {
    return !(inverse[i] > 0 && finite_number(double(inverse[i])));
  }
};

/// Whether two arrays differ.
template <class T>
struct Differs {
  const T *a, *b;
  constexpr bool operator()(std::int64_t i) const { return a[i] != b[i]; }
};

struct NotFinite {
  const double* in;
  constexpr bool operator()(std::int64_t i) const { return !finite_number(in[i]); }
};

/// Calls f(column of vertices, sum of squares of the block) for the vertices that the rows of vertex v have, ascending. Columns ascend
/// within each row of A, so that each block is found by bisection.
template <class T, class F>
constexpr void each_block(const CsrView<T>& a, std::int64_t block, std::int64_t v, F&& f) {
  const auto first_from = [&](std::int64_t row, std::int64_t column) {
    const auto begin = a.indptr[row];
    return begin + first_at_least(a.indices + begin, a.indptr[row + 1] - begin, std::uint64_t(column));
  };
  for (std::int64_t from = 0;;) {  // the first column that has not been seen
    std::int64_t next = a.cols;
    for (auto row = v * block; row < (v + 1) * block; ++row) {
      const auto k = first_from(row, from);
      if (k < a.indptr[row + 1] && a.indices[k] < next) next = a.indices[k];
    }
    if (next == a.cols) return;
    const auto vertex = next / block;
    from = (vertex + 1) * block;
    double sum = 0;
    for (auto row = v * block; row < (v + 1) * block; ++row)
      for (auto k = first_from(row, vertex * block); k < a.indptr[row + 1] && a.indices[k] < from; ++k)
        sum += double(a.values[k]) * double(a.values[k]);
    f(vertex, sum);
  }
}

template <class T>
struct CountBlocks {
  CsrView<T> a;
  std::int64_t block, vertices;
  Offset* out;
  constexpr void operator()(std::int64_t v) const {
    Offset count = 0;
    if (v < vertices) each_block(a, block, v, [&](std::int64_t, double) { ++count; });
    out[v] = count;
  }
};

/// Frobenius norms of the blocks.
template <class T>
struct FillBlocks {
  CsrView<T> a;
  std::int64_t block;
  const Offset* to;
  Index* indices;
  T* values;
  constexpr void operator()(std::int64_t v) const {
    auto k = to[v];
    each_block(a, block, v, [&](std::int64_t column, double sum) {
      indices[k] = Index(column), values[k++] = T(std::sqrt(sum));
    });
  }
};

/// The square of the largest strength of a row.
template <class T>
struct LargestStrength {
  CsrView<T> a;
  StrengthView<T> strong;
  float* out;
  constexpr void operator()(std::int64_t i) const {
    double most = 0;
    for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k) {
      const auto j = a.indices[k];
      const auto s = j != i ? strong.square(i, j, a.values[k]) : 0;
      most = s > most ? s : most;
    }
    out[i] = float(most);
  }
};

template <class T>
struct CountStrong {
  CsrView<T> a;
  StrengthView<T> strong;
  Offset* out;
  constexpr void operator()(std::int64_t i) const {
    Offset count = 0;
    if (i < a.rows)
      for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k)
        count += a.indices[k] != i && strong(i, a.indices[k], a.values[k]) ? 1 : 0;
    out[i] = count;
  }
};

template <class T>
struct FillStrong {
  CsrView<T> a;
  StrengthView<T> strong;
  const Offset* to;
  Index* out;
  constexpr void operator()(std::int64_t i) const {
    auto next = to[i];
    for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k)
      if (a.indices[k] != i && strong(i, a.indices[k], a.values[k])) out[next++] = a.indices[k];
  }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_SETUP_STEP(X, T) \
  X(FromRow<InvertDiagonal<T>>)            \
  X(FromRow<SumRow<T, T>>)                 \
  X(StartVectors<T>)                       \
  X(FromRow<CountBlocks<T>>)               \
  X(FromRow<FillBlocks<T>>)                \
  X(FromRow<LargestStrength<T>>)           \
  X(FromRow<CountStrong<T>>)               \
  X(FromRow<FillStrong<T>>)
