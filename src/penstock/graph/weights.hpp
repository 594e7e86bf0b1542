#pragma once
#include <cstdint>
#include <variant>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// What one pass over the weights of a matrix found, kept with it: it tells whether they suit, how large they are, and
/// where all are whole numbers below 2^31 it keeps them in the narrowest type that holds them.
struct PathWeights {
  using Whole = std::variant<std::monostate, Array<std::uint8_t>, Array<std::uint16_t>, Array<std::uint32_t>>;
  double largest = 0, mean = 0;  // of the finite ones
  bool finite = true;
  Whole whole = {};  // monostate for a pattern and for weights with fractions

  std::int64_t bytes() const;
};

/// Throws Error{invalid_argument} that names the first edge whose weight is negative or NaN.
template <class V>
PathWeights path_weights(const Csr<V>& a);

}  // namespace penstock
