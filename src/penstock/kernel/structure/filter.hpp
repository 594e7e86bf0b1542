#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// The entries (i, j) with j - i <= k (lower) or j - i >= k (upper). Rows must be sorted, and stay so.
template <class V>
Csr<V> triangle(const Csr<V>& a, std::int64_t k, bool upper);

/// Without the entries whose value is 0, of either sign; the others keep their order. A pattern has none.
template <class V>
Csr<V> without_zeros(const Csr<V>& a);

}  // namespace penstock
