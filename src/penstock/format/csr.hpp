#pragma once
#include <complex>
#include <concepts>
#include <cstdint>
#include <variant>

#include "penstock/core/array.hpp"

namespace penstock {

using Index = std::int32_t;        // a column inside one matrix, block or tile
using Offset = std::int64_t;       // a nonzero: this library is for more than 2^31 of them
using GlobalIndex = std::int64_t;  // a row or column of a distributed matrix

/// The value type of a pattern: every stored entry is one, and there is no values array.
struct One {};

template <class V>
inline constexpr bool is_pattern = std::same_as<V, One>;
template <class V>
inline constexpr std::int64_t value_bytes = is_pattern<V> ? 0 : static_cast<std::int64_t>(sizeof(V));

/// What kernels see: three pointers and a shape. Knows nothing of memory or ownership.
template <class V>
struct CsrView {
  std::int64_t rows = 0;
  std::int64_t cols = 0;           // at most 2^31 - 1
  Offset first_nnz = 0;            // indptr[r] - first_nnz indexes indices and values
  const Offset* indptr = nullptr;  // rows + 1
  const Index* indices = nullptr;
  const V* values = nullptr;  // unused when V is One
  // The entries that the CPU will copy next, one for each entry of this view. Its kernels prefetch them.
  const Index* ahead_indices = nullptr;
  const V* ahead_values = nullptr;
  Offset count = -1;  // nnz(), for host code that must not read a GPU's indptr. -1: not stated

  Offset nnz() const { return indptr[rows] - indptr[0]; }
};

/// Compressed sparse rows; each array may live somewhere else. Rows need not be sorted and may hold duplicates,
/// which add up. The arrays are never written through a Csr: they may be the user's.
template <class V>
struct Csr {
  std::int64_t rows = 0, cols = 0;
  Array<const Offset> indptr;
  Array<const Index> indices;
  Array<const V> values;  // empty when V is One

  std::int64_t nnz() const { return indices.size; }
  std::int64_t bytes() const { return indptr.bytes() + indices.bytes() + nnz() * value_bytes<V>; }
  CsrView<V> view() const {
    return {.rows = rows,
            .cols = cols,
            .first_nnz = 0,
            .indptr = indptr.data,
            .indices = indices.data,
            .values = values.data,
            .count = nnz()};
  }
};

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

/// Any matrix: only at the Python border. Everything inside is a template over V.
using AnyCsr = std::variant<Csr<One>, Csr<float>, Csr<double>, Csr<Complex64>, Csr<Complex128>>;

/// Throws Error{invalid_argument} that names the first fault: indptr not starting at 0, falling, or not ending at nnz,
/// or an index outside [0, cols). It reads the ends and 1024 samples; with `every_index` it reads everything, in parallel.
template <class V>
void validate(const Csr<V>& a, bool every_index);

/// The parts of validate(), for callers that look at a matrix piece by piece. validate_offsets checks that the offsets of
/// rows [first, last) do not fall and lie within the entries; the other one checks that the columns of entries [first, last)
/// are inside the matrix. Both run in parallel at the speed of memory, and throw Error{invalid_argument} that names the
/// first fault there.
template <class V>
void validate_offsets(const Csr<V>& a, std::int64_t first, std::int64_t last);
template <class V>
void validate_indices(const Csr<V>& a, Offset first, Offset last);

}  // namespace penstock

#define PENSTOCK_FOR_EACH_VALUE(X) X(One) X(float) X(double) X(Complex64) X(Complex128)
