#pragma once
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Some rows of an EllG: one contiguous range of its bytes, which begins at a multiple of 128.
struct EllBlock {
  std::int64_t first_row = 0, rows = 0;
  std::int64_t width = 0;   // entries of its longest row
  std::int64_t offset = 0;  // where its bytes begin
  Offset first_nnz = 0, nnz = 0;
};

/// Where a block's arrays lie in its bytes, each at a multiple of 128: `stride` row lengths, then `width` times `stride`
/// columns, entry j of row i being number j * stride + i, then as many values. Rows are padded to whole warps.
template <class V>
struct EllLayout {
  EllLayout(std::int64_t rows, std::int64_t width)
      : stride((rows + 31) / 32 * 32),
        columns(stride * std::int64_t(sizeof(Index))),
        values(columns + width * stride * std::int64_t(sizeof(Index))),
        bytes(up(values + width * stride * value_bytes<V>)) {}
  static constexpr std::int64_t up(std::int64_t n) { return (n + 127) / 128 * 128; }
  std::int64_t stride, columns, values, bytes;
};

/// ELL-G (cardellini-2014, section III): ELLPACK, column-major, with an array of row lengths, so that a thread of a GPU walks
/// a row and stops at its end, and the reads of a warp lie side by side. The matrix is cut into blocks, which travel
/// independently. All blocks but the last have the same number of rows, and each is as wide as its own longest row.
template <class V>
struct EllG {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t block_rows = 0;  // a multiple of 256
  std::vector<EllBlock> blocks;
  Array<const std::byte> bytes;

  EllLayout<V> layout(std::int64_t block) const {
    const auto& b = blocks[static_cast<std::size_t>(block)];
    return {b.rows, b.width};
  }
  /// The share of the stored entries that are padding.
  double padding() const;
};

struct EllOptions {
  std::int64_t block_bytes = 16 << 20;  // a block has at most so many bytes, unless 256 rows take more
  double most_bytes = 3.0;              // times the bytes of the CSR matrix: a larger result is refused
};

/// Converts on all threads; every row keeps the order of its entries. Throws Error{invalid_argument}, with the numbers and
/// the remedy, where long rows would make the result larger than allowed.
template <class V>
EllG<V> to_ell_g(const Csr<V>& a, const EllOptions& options = {});

/// Converts back to CSR.
template <class V>
Csr<V> to_csr(const EllG<V>& a);

/// The same bytes in another memory.
template <class V>
EllG<V> copy_to(const EllG<V>& a, Place place);

}  // namespace penstock
