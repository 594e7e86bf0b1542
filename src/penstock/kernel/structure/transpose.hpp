#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// A^T. Its rows ascend by column, whatever the order in A's rows is; equal entries all stay, in the order of A's arrays. The
/// result is the same bit for bit for any number of threads. Beside A and A^T it needs two bytes for each entry and a few MB
/// for each thread. Throws Error{invalid_argument} if A has more than 2^31 - 1 rows, which A^T cannot have as columns.
template <class V>
Csr<V> transpose(const Csr<V>& a);

}  // namespace penstock
