#pragma once
#include <complex>
#include <concepts>
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Row or column numbers of a COO matrix as the user has them: 32 or 64 bits wide.
struct CooIndices {
  const void* data = nullptr;
  bool wide = false;
  std::int64_t operator[](std::int64_t k) const {
    return wide ? static_cast<const std::int64_t*>(data)[k] : static_cast<const std::int32_t*>(data)[k];
  }
};

/// `entries` triples in any order; equal (row, column) pairs add up.
template <class V>
struct CooView {
  std::int64_t rows = 0, cols = 0, entries = 0;
  CooIndices row, col;
  const V* values = nullptr;  // unused when V is One
};

/// What an entry (i, j) off the diagonal says about (j, i): nothing, or the same value, its negative, its
/// conjugate.
enum class Mirror { none, symmetric, skew, hermitian };

/// The value of entry (j, i) where (i, j) has `value`.
template <class V>
V mirrored(Mirror mirror, V value) {
  if constexpr (is_pattern<V>) return value;
  else {
    if (mirror == Mirror::skew) return -value;
    if constexpr (std::same_as<V, Complex64> || std::same_as<V, Complex128>)
      if (mirror == Mirror::hermitian) return std::conj(value);
    return value;
  }
}

struct CooOptions {
  bool sum_duplicates = true;  // false keeps equal entries side by side, ordered by the bits of their values
  Mirror mirror = Mirror::none;
};

/// Rows sorted by column, explicit zeros kept; the same result bit for bit for any number of threads and any
/// order of the entries. Beside input and output it needs two bytes an entry. Throws Error{invalid_argument}
/// that names the first entry outside the matrix, or the first nonzero on the diagonal of a skew matrix.
template <class V>
Csr<V> coo_to_csr(const CooView<V>& coo, const CooOptions& options = {});

}  // namespace penstock
