#pragma once
#include <cstdint>

#include "penstock/kernel/structure/steps.hpp"
#include "penstock/solver/multigrid/shared_steps.hpp"

// The steps that make a prolongator in a device's memory. `members` are the vertices sorted by aggregate, ascending within each.
namespace penstock {

/// The aggregate of each vertex as a key to sort by; vertices without one come last.
struct AggregateKeys {
  const Index* of;
  std::int64_t aggregates;
  std::uint32_t* keys;
  Index* vertices;
  constexpr void operator()(std::int64_t v) const {
    keys[v] = std::uint32_t(of[v] < 0 ? aggregates : of[v]);
    vertices[v] = Index(v);
  }
};

/// Ones of each row of a block: the vectors where none are given.
struct OnesOfBlock {
  std::int64_t block;
  double* out;
  constexpr void operator()(std::int64_t row) const {
    for (std::int64_t c = 0; c < block; ++c) out[row * block + c] = row % block == c ? 1 : 0;
  }
};

/// Rows of the vectors in the order of the aggregates.
struct GatherVectors {
  const Index* members;
  std::int64_t block, k;
  const double* in;
  double* out;
  constexpr void operator()(std::int64_t i) const {
    const auto row = members[i / block] * block + i % block;
    for (std::int64_t c = 0; c < k; ++c) out[i * k + c] = in[row * k + c];
  }
};

/// QR of the vectors of an aggregate.
struct Orthonormalise {
  const Offset* begin;  // of an aggregate in `members`
  std::int64_t block, k;
  double *q, *r;
  constexpr void operator()(std::int64_t a) const {
    orthonormalise(q + begin[a] * block * k, (begin[a + 1] - begin[a]) * block, k, r + a * k * k);
  }
};

/// k entries in each row that has an aggregate; called once more with i = rows.
struct CountTentative {
  const Index* of;
  std::int64_t block, k, rows;
  Offset* out;
  constexpr void operator()(std::int64_t row) const { out[row] = row < rows && of[row / block] >= 0 ? k : 0; }
};

template <class T>
struct FillTentative {
  const Index *members, *of;
  std::int64_t block, k;
  const double* q;
  const Offset* to;
  Index* indices;
  T* values;
  constexpr void operator()(std::int64_t i) const {
    const std::int64_t v = members[i / block], first = to[v * block + i % block];
    for (std::int64_t c = 0; c < k; ++c) {
      indices[first + c] = Index(of[v] * k + c);
      values[first + c] = T(q[i * k + c]);
    }
  }
};

/// The smoother S = 1 - omega D^-1 A of a prolongator, with weak entries of A on the diagonal. `weighed`: strong is used.
template <class T>
struct Smoother {
  CsrView<T> a;
  const T* inverse;
  StrengthView<T> strong;
  bool weighed;
  double omega;

  /// f(column, value) for the entries of row i, ascending.
  template <class F>
  constexpr void row(std::int64_t i, F&& f) const {
    const double filtered = filtered_diagonal(i, a, inverse, weighed ? &strong : nullptr);
    if (inverse[i] == 0) return f(Index(i), 1.0);
    const double w = omega / filtered;
    for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k) {
      const auto j = a.indices[k];
      if (j == i) f(j, 1 - w * filtered);
      else if (!weighed || strong(i, j, a.values[k])) f(j, -w * double(a.values[k]));
    }
  }
};

template <class T>
struct CountSmoother {
  Smoother<T> s;
  Offset* out;
  constexpr void operator()(std::int64_t i) const {
    Offset count = 0;
    if (i < s.a.rows) s.row(i, [&](Index, double) { ++count; });
    out[i] = count;
  }
};

template <class T>
struct FillSmoother {
  Smoother<T> s;
  const Offset* to;
  Index* indices;
  T* values;
  constexpr void operator()(std::int64_t i) const {
    auto k = to[i];
    s.row(i, [&](Index column, double value) { indices[k] = column, values[k++] = T(value); });
  }
};

/// Row offsets of a part, where it begins elsewhere.
struct MoveOffsets {
  const Offset* from;
  Offset by;
  Offset* to;
  constexpr void operator()(std::int64_t i) const { to[i] = from[i] + by; }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_PROLONGATE_STEP(X) \
  X(AggregateKeys)                           \
  X(OnesOfBlock)                             \
  X(GatherVectors)                           \
  X(Orthonormalise)                          \
  X(CountTentative)                          \
  X(MoveOffsets)
#define PENSTOCK_FOR_EACH_PROLONGATE_STEP_OF(X, T) \
  X(FillTentative<T>)                              \
  X(CountSmoother<T>)                              \
  X(FillSmoother<T>)                               \
  X(FromRow<CountSmoother<T>>)                     \
  X(FromRow<FillSmoother<T>>)
