#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Either whole rows, or a piece of one row that is too long for a block (then rows == 1 and `piece` is set). The
/// same cut serves the threads of the CPU, the slots of a ring and the GPUs of a machine.
struct RowBlock {
  std::int64_t first_row = 0, rows = 0;
  Offset first_nnz = 0, nnz = 0;
  bool piece = false;
};

/// The sizes that a cut aims at. A block costs nnz * nnz_cost + rows * row_cost, which is at most `budget`; a row that alone
/// costs more is split. Blocks of whole rows begin at multiples of `row_align`, if the budget allows it.
struct BlockShape {
  std::int64_t budget = 0, nnz_cost = 1, row_cost = 1;
  std::int64_t row_align = 1;
};

/// Cuts [0, rows) in ascending order, straight out of `indptr` (rows + 1 entries) by galloping: no other memory than
/// the list itself. The cut depends on the matrix and the shape alone, so sums are the same for any thread count.
std::vector<RowBlock> row_blocks(std::span<const Offset> indptr, const BlockShape& shape);

/// The block as a matrix of its own; `piece_ptr` (two entries) is filled for a piece and must outlive the view.
template <class V>
CsrView<V> block_view(const CsrView<V>& a, const RowBlock& b, Offset* piece_ptr) {
  CsrView<V> view = a;
  view.rows = b.rows;
  view.count = b.nnz;
  if (b.piece) {
    piece_ptr[0] = b.first_nnz, piece_ptr[1] = b.first_nnz + b.nnz;
    view.indptr = piece_ptr;
  } else {
    view.indptr = a.indptr + b.first_row;
  }
  return view;
}

}  // namespace penstock
