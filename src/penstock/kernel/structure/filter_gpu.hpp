#pragma once
#include <span>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// triangle(), without_zeros(), mask() and take_rows() of matrices in the memory of a stream's device, complete when they
// return: the same bits as on the CPU. Beside A and the result the first three take 8 bytes an entry of A. All throw
// Error{out_of_memory}, with the numbers, before they start where it does not fit.
namespace penstock {

template <class V>
Csr<V> triangle_on(const Csr<V>& a, std::int64_t k, bool upper, Stream stream);
template <class V>
Csr<V> without_zeros_on(const Csr<V>& a, Stream stream);
template <class V>
Csr<V> mask_on(const Csr<V>& a, const Csr<One>& m, bool complement, Stream stream);
/// `rows` and `places` are in host memory. Rows are sorted where there are places.
template <class V>
Csr<V> take_rows_on(const Csr<V>& a, std::span<const std::int64_t> rows, std::span<const Index> places,
                    Stream stream);

}  // namespace penstock
