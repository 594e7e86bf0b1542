#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// The values of diag(rows) A diag(cols), in the order of A's values. A null pointer stands for ones, and so do the values of
/// a pattern.
template <class T, class V>
Array<T> scaled_values(const Csr<V>& a, const T* rows, const T* cols);

}  // namespace penstock
