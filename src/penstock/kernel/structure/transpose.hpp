#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// A^T: its rows ascend by column whatever the order in A's rows; equal entries all stay, in the order of A's arrays.
/// The same result bit for bit for any number of threads. Beside A and A^T it needs two bytes an entry and a few MB a
/// thread. Throws Error{invalid_argument} where A has more than 2^31 - 1 rows, which A^T cannot have as columns.
template <class V>
Csr<V> transpose(const Csr<V>& a);

}  // namespace penstock
