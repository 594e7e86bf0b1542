#pragma once
#include "penstock/core/device.hpp"
#include "penstock/format/coo.hpp"
#include "penstock/kernel/structure/sort_rows.hpp"

// Rows that are sorted in the memory of a stream's device, by a radix sort of numbers that hold row and column: the same
// bits as on the CPU. All wait until the result is complete. They throw Error{out_of_memory}, with the numbers, before they
// start where it does not fit, and Error{invalid_argument} where row and column do not fit 63 bits together.
namespace penstock {

/// coo_to_csr() of triples in that memory, of which equal ones add up; no mirror images. Beside triples and matrix it takes
/// 16 bytes an entry and a value (a pattern 24 bytes), and where there are duplicates 32 bytes and a value
/// more.
template <class V>
Csr<V> coo_to_csr_on(const CooView<V>& coo, Stream stream);

/// sort_rows() of a matrix in that memory.
template <class V>
Csr<V> sort_rows_on(const Csr<V>& a, bool merge, Stream stream);

/// row_order() of a matrix in that memory.
RowOrder row_order_on(const Csr<One>& a, Stream stream);

}  // namespace penstock
