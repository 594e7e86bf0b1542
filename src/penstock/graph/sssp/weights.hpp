#pragma once
#include <cstdint>
#include <optional>
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
  Whole whole = {};                    // monostate for a pattern and for weights with fractions
  std::optional<bool> symmetric = {};  // symmetric_weights(), if it was asked for

  std::int64_t bytes() const;
};

struct LookAtWeights {
  bool symmetric = false;  // symmetric_weights(), too, in the same pass
  bool narrow = true;      // whole numbers are kept in their narrowest type
};

/// Throws Error{invalid_argument} that names the first edge whose weight is negative or NaN.
template <class V>
PathWeights path_weights(const Csr<V>& a, const LookAtWeights& how = {});

/// The smallest weight, 1 for a pattern, infinity where there is none: for searches that take negative ones. Throws
/// Error{invalid_argument} that names the first edge whose weight is NaN or minus infinity.
template <class V>
double least_weight(const Csr<V>& a);

/// Whether for every entry (i, j) there are as many entries (j, i) of the same value. Some entries are looked up first: one
/// without its mirror is the answer. Else hashes of all entries above the diagonal are summed up, less those of mirrored entries
/// below it, in one pass. If that is not 0, the answer is no; if it is, it is yes, with a chance of about 1 in 2^64 to be wrong.
template <class V>
bool symmetric_weights(const Csr<V>& a);

}  // namespace penstock
