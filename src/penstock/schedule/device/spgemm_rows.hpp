#pragma once
#include <cstdint>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/kernel/row_blocks.hpp"

namespace penstock {

/// What is known of the rows of C = A B before a product: how many entries each has at most.
struct SpgemmRows {
  Array<Offset> bounds;  // on the host; entry r: of the rows before r, the sums of min(products, columns)
  Offset products = 0;
  Offset entries = 0;  // an upper bound of C's entries: that of `bounds`, or less with a mask
};

/// Counts the products of every row on the stream's device, which holds A, B and the mask (null: none). From A's entries and
/// the offsets of B and of the mask alone.
SpgemmRows spgemm_rows(const CsrView<One>& a, const CsrView<One>& b, const Csr<One>* mask, Stream stream);

/// Blocks of whole rows, in order. Each takes at most `budget` bytes, unless it is one row alone.
std::vector<RowBlock> whole_row_blocks(const Array<Offset>& bounds, std::int64_t entry_bytes,
                                       std::int64_t row_bytes, std::int64_t budget);

/// Rows [first, first + rows) of a matrix in a device's memory, with the number of their entries; waits for the stream.
template <class V>
CsrView<V> device_rows(CsrView<V> a, std::int64_t first, std::int64_t rows, Stream stream) {
  Offset begin = 0, end = 0;
  copy_async(&begin, a.indptr + first, sizeof begin, stream);
  copy_async(&end, a.indptr + first + rows, sizeof end, stream);
  synchronize(stream);
  a.indptr += first, a.rows = rows, a.count = end - begin;
  return a;
}

}  // namespace penstock
