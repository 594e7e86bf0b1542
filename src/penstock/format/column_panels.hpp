#pragma once
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// The matrix cut into ranges of `width` columns, each a matrix of its own with all the rows, columns counted from the range's
/// start, and entries in their old order: A x is the sum of panel times slice of x (buono-2017, section 3.2: for an x
/// that a GPU does not hold). Copies the entries; host memory. Throws Error{invalid_argument} for a width below 1.
template <class V>
std::vector<Csr<V>> column_panels(const Csr<V>& a, std::int64_t width);

}  // namespace penstock
