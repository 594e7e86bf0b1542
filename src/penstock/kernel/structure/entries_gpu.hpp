#pragma once
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// Small operations on a matrix in the memory of a stream's device. All wait until the result is complete.
namespace penstock {

/// Rows [first, last); entries are shared.
template <class V>
Csr<V> row_range_on(const Csr<V>& a, std::int64_t first, std::int64_t last, Stream stream);

/// The matrix diag(rows) A diag(cols) with A's offsets and columns. The factors are in host memory; a null pointer stands for
/// ones, and so do the values of a pattern. Complex products may differ from the CPU's in their last bits.
template <class T, class V>
Csr<T> scale_on(const Csr<V>& a, const T* rows, const T* cols, Stream stream);

/// The k-th diagonal in host memory, duplicates added up in their order; of a pattern as bool.
template <class V>
Array<std::conditional_t<is_pattern<V>, bool, V>> diagonal_on(const Csr<V>& a, std::int64_t k, Stream stream);

/// The matrix with values of type T, and A's offsets and columns. A pattern's values are ones.
template <class T, class V>
Csr<T> converted_on(const Csr<V>& a, Stream stream);

}  // namespace penstock
