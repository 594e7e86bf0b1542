#pragma once
#include <cstdint>
#include <variant>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// What one pass over the weights of a matrix found, kept with the matrix: whether they are valid, and how large they are. If
/// all are whole numbers below 2^31, it keeps them in the narrowest type that holds them.
struct PathWeights {
  using Whole = std::variant<std::monostate, Array<std::uint8_t>, Array<std::uint16_t>, Array<std::uint32_t>>;
  double smallest = 0, largest = 0, mean = 0;  // of the finite ones
  bool finite = true;
  Whole whole = {};  // monostate for a pattern and for weights with fractions

  std::int64_t bytes() const;
};

/// Throws Error{invalid_argument} that names the first edge whose weight is negative or NaN.
template <class V>
PathWeights path_weights(const Csr<V>& a);

/// The smallest weight, 1 for a pattern, infinity where there is none: for searches that take negative ones. Throws
/// Error{invalid_argument} that names the first edge whose weight is NaN or minus infinity.
template <class V>
double least_weight(const Csr<V>& a);

/// Whether for every entry (i, j) there are as many entries (j, i) of the same value. It compares the sum of 128-bit hashes of
/// all entries with that of all mirrored entries, in one pass. If the sums differ, the answer is no; if they are equal, it is
/// yes, with a chance of about 1 in 2^128 to be wrong.
template <class V>
bool symmetric_weights(const Csr<V>& a);

}  // namespace penstock
