#pragma once
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// A^T in the memory of the stream's device, where A is, complete when it returns: the same bits as transpose(). Columns are
/// sorted by radix with the rows, and once more with the values, so that beside A and A^T it takes 12 bytes an entry for
/// values of up to 4 bytes, 16 for 8 bytes and 24 for 16. Throws Error{out_of_memory}, with the numbers, before it starts
/// where these do not fit, and Error{invalid_argument} if A has more than 2^31 - 1 rows.
template <class V>
Csr<V> transpose_on(const Csr<V>& a, Stream stream);

}  // namespace penstock
