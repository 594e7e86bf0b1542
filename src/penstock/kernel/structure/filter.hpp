#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// The entries (i, j) with j - i <= k (lower) or j - i >= k (upper). Rows must be sorted, and stay so.
template <class V>
Csr<V> triangle(const Csr<V>& a, std::int64_t k, bool upper);

/// The matrix without the entries whose value is 0, of either sign. The others keep their order. A pattern has no such
/// entries.
template <class V>
Csr<V> without_zeros(const Csr<V>& a);

}  // namespace penstock
