#pragma once
#include "penstock/kernel/structure/entry_steps.hpp"

// The steps of operations that keep some of the entries, or some of the rows, of a matrix in a device's memory.
namespace penstock {

// Tests

template <class P>
struct IsNonzero {
  const P* values;
  constexpr bool operator()(Offset k) const {
    if constexpr (std::is_floating_point_v<P>) return values[k] != 0;
    else return values[k].re != 0 || values[k].im != 0;
  }
};

/// Whether column less row is at most `diagonal`, or with `upper` at least.
struct InTriangle {
  const Offset* indptr;
  std::int64_t rows;
  const Index* indices;
  std::int64_t diagonal;
  bool upper;
  constexpr bool operator()(Offset k) const {
    const auto distance = indices[k] - row_of_entry(indptr, rows, k);
    return upper ? distance >= diagonal : distance <= diagonal;
  }
};

/// Whether a mask of the same shape, whose rows ascend, stores this place; with `complement` whether it does not.
struct InMask {
  const Offset* indptr;
  std::int64_t rows;
  const Index* indices;
  const Offset* mask_indptr;
  const Index* mask_indices;
  bool complement;
  constexpr bool operator()(Offset k) const {
    const auto row = row_of_entry(indptr, rows, k);
    const auto* const first = mask_indices + mask_indptr[row];
    const auto n = mask_indptr[row + 1] - mask_indptr[row];
    const auto place = first_at_least(first, n, std::uint64_t(indices[k]));
    return (place < n && first[place] == indices[k]) != complement;
  }
};

// Steps

/// 1 for each of n entries that has the property, and 0 behind the last.
template <class Test>
struct Flags {
  Test test;
  Offset n;
  Offset* out;
  constexpr void operator()(Offset k) const { out[k] = k < n && test(k) ? 1 : 0; }
};

/// The entries that are kept; starts[k] is how many of those before entry k are.
template <class T>
struct Compact {
  const T* in;
  const Offset* starts;
  T* out;
  constexpr void operator()(Offset k) const {
    if (starts[k + 1] > starts[k]) out[starts[k]] = in[k];
  }
};

struct KeptOffsets {
  const Offset *indptr, *starts;
  Offset* out;
  constexpr void operator()(std::int64_t r) const { out[r] = starts[indptr[r]]; }
};

/// The length of each of n rows that are taken, and 0 behind the last.
struct TakenLengths {
  const Offset* indptr;
  const std::int64_t* taken;
  std::int64_t n;
  Offset* out;
  constexpr void operator()(std::int64_t i) const {
    out[i] = i < n ? indptr[taken[i] + 1] - indptr[taken[i]] : 0;
  }
};

/// The entries of the rows that are taken; column j becomes places[j], if there are places.
template <class T>
struct TakeEntries {
  const Offset* out_indptr;
  std::int64_t n;
  const Offset* indptr;
  const std::int64_t* taken;
  const T* in;
  const Index* places;
  T* out;
  constexpr void operator()(Offset k) const {
    const auto i = row_of_entry(out_indptr, n, k);
    const T entry = in[indptr[taken[i]] + k - out_indptr[i]];
    if constexpr (std::same_as<T, Index>) out[k] = places ? places[entry] : entry;
    else out[k] = entry;
  }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_FILTER_STEP(X) \
  X(Flags<InTriangle>) X(Flags<InMask>) X(Compact<Index>) X(KeptOffsets) X(TakenLengths) X(TakeEntries<Index>)
#define PENSTOCK_FOR_EACH_FILTER_VALUE_STEP(X, P) X(Flags<IsNonzero<P>>) X(Compact<P>) X(TakeEntries<P>)
