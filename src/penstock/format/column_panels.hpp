#pragma once
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Cuts the matrix into ranges of `width` columns. Each is a matrix of its own with all the rows; its columns count from the
/// start of the range, and its entries keep their order. A x is the sum of each panel times its slice of x (buono-2017,
/// section 3.2: for an x that a GPU does not hold). Copies the entries to host memory. Throws Error{invalid_argument} for
/// a width below 1.
template <class V>
std::vector<Csr<V>> column_panels(const Csr<V>& a, std::int64_t width);

}  // namespace penstock
