#pragma once
#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "penstock/format/csr.hpp"
#include "penstock/kernel/structure/steps.hpp"

// The steps and tests of operations on matrices in a device's memory (steps.hpp). All pointers are to that memory.
namespace penstock {

/// A complex number as kernels see it: nvcc does not compile libstdc++'s std::complex for a GPU. The standard fixes its layout,
/// which is this one.
template <class R>
struct PlainComplex {
  using Part = R;
  R re, im;
};
template <class V>
struct PlainOf {
  using type = V;
};
template <class R>
struct PlainOf<std::complex<R>> {
  using type = PlainComplex<R>;
};
template <class V>
using Plain = typename PlainOf<V>::type;

/// The same numbers for a kernel.
template <class V>
Plain<V>* plain(V* values) {
  return reinterpret_cast<Plain<V>*>(values);
}
template <class V>
const Plain<V>* plain(const V* values) {
  return reinterpret_cast<const Plain<V>*>(values);
}

/// The row of entry k. indptr ascends from 0 to the number of entries. In other words, the last of `rows` ascending numbers that is at
/// most k, where the first one is.
template <class N>
constexpr std::int64_t row_of_entry(const N* indptr, std::int64_t rows, Offset k) {
  std::int64_t low = 0, high = rows;  // indptr[low] <= k < indptr[high]
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    if (indptr[middle] <= k) low = middle;
    else high = middle;
  }
  return low;
}

/// The first place in sorted numbers from which on they are at least `least`.
template <class K>
constexpr std::int64_t first_at_least(const K* sorted, std::int64_t n, std::uint64_t least) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    if (std::uint64_t(sorted[middle]) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// The row of each entry.
struct RowNumbers {
  const Offset* indptr;
  std::int64_t rows;
  Index* out;
  constexpr void operator()(std::int64_t k) const { out[k] = Index(row_of_entry(indptr, rows, k)); }
};

/// Where the sorted keys of row r begin: keys are numbers of rows, with `bits` bits of something else below.
template <class K>
struct FirstAtLeast {
  const K* keys;
  std::int64_t n;
  int bits;
  Offset* out;
  constexpr void operator()(std::int64_t r) const {
    out[r] = first_at_least(keys, n, std::uint64_t(r) << bits);
  }
};

/// The numbers of `in` as another type of integers, which holds them.
template <class From, class To>
struct ConvertIndices {
  const From* in;
  To* out;
  constexpr void operator()(std::int64_t k) const { out[k] = To(in[k]); }
};

/// Row offsets of a part of a matrix, of which `base` entries are before it.
struct LessBase {
  const Offset* in;
  Offset base;
  Offset* out;
  constexpr void operator()(std::int64_t r) const { out[r] = in[r] - base; }
};

/// (row, column) in one number, which sorts as the two do.
struct EntryKeys {
  const Offset* indptr;
  std::int64_t rows;
  const Index* indices;
  int bits;  // of a column
  std::uint64_t* out;
  constexpr void operator()(std::int64_t k) const {
    out[k] = std::uint64_t(row_of_entry(indptr, rows, k)) << bits | std::uint64_t(indices[k]);
  }
};

/// The same of triples.
template <class R, class C>
struct TripleKeys {
  const R* row;
  const C* col;
  int bits;
  std::uint64_t* out;
  constexpr void operator()(std::int64_t k) const {
    out[k] = std::uint64_t(row[k]) << bits | std::uint64_t(col[k]);
  }
};

/// The columns of such keys.
struct KeyColumns {
  const std::uint64_t* keys;
  int bits;
  Index* out;
  constexpr void operator()(std::int64_t k) const {
    out[k] = Index(keys[k] & ((std::uint64_t{1} << bits) - 1));
  }
};

/// 1 where a key differs from the one before it, and 0 behind the last.
struct KeyHeads {
  const std::uint64_t* keys;
  std::int64_t n;
  Offset* out;
  constexpr void operator()(std::int64_t k) const {
    out[k] = k < n && (k == 0 || keys[k] != keys[k - 1]) ? 1 : 0;
  }
};

/// The offsets of rows after equal keys have become one; starts[k] is how many of those are before key k.
struct MergedOffsets {
  const std::uint64_t* keys;
  std::int64_t n;
  int bits;
  const Offset* starts;
  Offset* out;
  constexpr void operator()(std::int64_t r) const {
    out[r] = starts[first_at_least(keys, n, std::uint64_t(r) << bits)];
  }
};

/// Entry numbers, for a sort that moves these alone.
struct Numbers {
  std::uint64_t* out;
  constexpr void operator()(std::int64_t k) const { out[k] = std::uint64_t(k); }
};

template <class T>
struct Gather {
  const T* in;
  const std::uint64_t* order;
  T* out;
  constexpr void operator()(std::int64_t k) const { out[k] = in[order[k]]; }
};

/// A value as unsigned numbers, the most significant first: values are put in this order before they are added up, as
/// less_bits() does on the CPU.
template <class V>
inline constexpr int kKeysOfValue = sizeof(V) > 8 ? 2 : 1;
template <class V>
constexpr std::uint64_t key_of_value(const V& v, int part) {
  if constexpr (std::same_as<V, float>) return std::bit_cast<std::uint32_t>(v);
  else if constexpr (std::same_as<V, double>) return std::bit_cast<std::uint64_t>(v);
  else if constexpr (std::same_as<V, PlainComplex<float>>)
    return std::uint64_t(std::bit_cast<std::uint32_t>(v.im)) << 32 | std::bit_cast<std::uint32_t>(v.re);
  else return std::bit_cast<std::uint64_t>(part == 0 ? v.re : v.im);
}

template <class V>
struct ValueKeys {
  const V* values;
  const std::uint64_t* order;
  int part;
  std::uint64_t* out;
  constexpr void operator()(std::int64_t k) const { out[k] = key_of_value(values[order[k]], part); }
};

/// Adds up the values of equal keys, in double precision and in their order; the first of them does.
template <class V>
struct MergeValues {
  const std::uint64_t* keys;
  std::int64_t n;
  const Offset* starts;
  const V* values;
  V* out;
  constexpr void operator()(std::int64_t k) const {
    if (k > 0 && keys[k] == keys[k - 1]) return;
    auto last = k + 1;
    while (last < n && keys[last] == keys[k]) ++last;
    if (last == k + 1) {
      out[starts[k]] = values[k];
      return;
    }
    if constexpr (std::same_as<V, float> || std::same_as<V, double>) {
      double sum = values[k];
      for (auto i = k + 1; i < last; ++i) sum += double(values[i]);
      out[starts[k]] = V(sum);
    } else {
      double real = values[k].re, imag = values[k].im;
      for (auto i = k + 1; i < last; ++i) real += double(values[i].re), imag += double(values[i].im);
      using Part = typename V::Part;
      out[starts[k]] = V{Part(real), Part(imag)};
    }
  }
};

/// The columns of merged keys.
struct MergeColumns {
  const std::uint64_t* keys;
  int bits;
  const Offset* starts;
  Index* out;
  constexpr void operator()(std::int64_t k) const {
    if (k > 0 && keys[k] == keys[k - 1]) return;
    out[starts[k]] = Index(keys[k] & ((std::uint64_t{1} << bits) - 1));
  }
};

template <class T>
constexpr T one() {
  if constexpr (std::is_floating_point_v<T>) return T(1);
  else return T{1, 0};
}

/// Values of another type; a pattern's are ones.
template <class From, class To>
struct ConvertValues {
  const From* in;
  To* out;
  constexpr void operator()(std::int64_t k) const {
    if constexpr (is_pattern<From>) out[k] = one<To>();
    else if constexpr (std::is_floating_point_v<To>) out[k] = To(in[k]);
    else if constexpr (std::is_floating_point_v<From>) out[k] = To{typename To::Part(in[k]), 0};
    else out[k] = To{typename To::Part(in[k].re), typename To::Part(in[k].im)};
  }
};

template <class T>
constexpr T product_of(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  else return T{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// The values of diag(by_row) A diag(by_column); a null pointer stands for ones. T is V, or V is One.
template <class T, class V>
struct ScaleValues {
  const Offset* indptr;
  std::int64_t rows;
  const Index* indices;
  const V* values;
  const T *by_row, *by_column;
  T* out;
  constexpr void operator()(std::int64_t k) const {
    T value = by_row ? by_row[row_of_entry(indptr, rows, k)] : one<T>();
    if constexpr (!is_pattern<V>) value = by_row ? product_of(value, values[k]) : values[k];
    out[k] = by_column ? product_of(value, by_column[indices[k]]) : value;
  }
};

/// The entries (i + first_row, i + first_column), duplicates added up; of a pattern whether there is one.
template <class V>
struct TakeDiagonal {
  using Out = std::conditional_t<is_pattern<V>, bool, V>;
  const Offset* indptr;
  const Index* indices;
  const V* values;
  std::int64_t first_row, first_column;
  Out* out;
  constexpr void operator()(std::int64_t i) const {
    Out sum{};
    for (auto k = indptr[i + first_row]; k < indptr[i + first_row + 1]; ++k) {
      if (indices[k] != i + first_column) continue;
      if constexpr (is_pattern<V>) sum = true;
      else if constexpr (std::is_floating_point_v<V>) sum = sum + values[k];
      else sum = V{sum.re + values[k].re, sum.im + values[k].im};
    }
    out[i] = sum;
  }
};

// Tests

/// Whether offsets fall behind row r, or are negative there.
struct OffsetsFall {
  const Offset* indptr;
  constexpr bool operator()(std::int64_t r) const { return indptr[r] < 0 || indptr[r + 1] < indptr[r]; }
};

template <class T>
struct OutsideRange {
  const T* numbers;
  std::int64_t end;  // numbers lie in [0, end)
  constexpr bool operator()(std::int64_t k) const {
    return std::int64_t(numbers[k]) < 0 || std::int64_t(numbers[k]) >= end;
  }
};

/// Whether entry k has a smaller column than the one before it in its row, or with `repeats` the same.
struct OutOfOrder {
  const Offset* indptr;
  std::int64_t rows;
  const Index* indices;
  bool repeats;
  constexpr bool operator()(std::int64_t k) const {
    if (k == 0 || (repeats ? indices[k] != indices[k - 1] : indices[k] >= indices[k - 1])) return false;
    return indptr[row_of_entry(indptr, rows, k)] != k;
  }
};

struct SameKey {
  const std::uint64_t* keys;
  constexpr bool operator()(std::int64_t k) const { return k > 0 && keys[k] == keys[k - 1]; }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_INDEX_STEP(X)         \
  X(RowNumbers)                                 \
  X(FirstAtLeast<std::uint32_t>)                \
  X(FirstAtLeast<std::uint64_t>)                \
  X(ConvertIndices<std::int32_t, std::int64_t>) \
  X(ConvertIndices<std::int64_t, std::int32_t>) \
  X(LessBase)                                   \
  X(EntryKeys)                                  \
  X(TripleKeys<std::int32_t, std::int32_t>)     \
  X(TripleKeys<std::int32_t, std::int64_t>)     \
  X(TripleKeys<std::int64_t, std::int32_t>)     \
  X(TripleKeys<std::int64_t, std::int64_t>)     \
  X(KeyColumns)                                 \
  X(KeyHeads)                                   \
  X(MergedOffsets)                              \
  X(Numbers)                                    \
  X(Gather<std::uint64_t>)                      \
  X(MergeColumns)
#define PENSTOCK_FOR_EACH_VALUE_STEP(X, P) \
  X(Gather<P>)                             \
  X(ValueKeys<P>)                          \
  X(MergeValues<P>)                        \
  X(ScaleValues<P, P>)                     \
  X(ScaleValues<P, One>)                   \
  X(ConvertValues<One, P>)                 \
  X(TakeDiagonal<P>)
/// From a type to one that has a place for all that it has.
#define PENSTOCK_FOR_EACH_CONVERSION(X) \
  X(float, double)                      \
  X(double, float)                      \
  X(float, Complex64)                   \
  X(float, Complex128)                  \
  X(double, Complex64)                  \
  X(double, Complex128)                 \
  X(Complex64, Complex128)              \
  X(Complex128, Complex64)
#define PENSTOCK_FOR_EACH_TEST(X) \
  X(OffsetsFall) X(OutsideRange<std::int32_t>) X(OutsideRange<std::int64_t>) X(OutOfOrder) X(SameKey)
