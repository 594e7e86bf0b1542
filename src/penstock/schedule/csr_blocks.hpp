#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "penstock/schedule/block_source.hpp"
#include "penstock/schedule/slot.hpp"

namespace penstock {

/// A CSR matrix in row blocks straight from its arrays, nothing copied or prepared: a slot holds a block's row offsets,
/// its indices and its values (CsrSlot). The first blocks may be larger than the others: those stay on GPUs.
template <class V>
class CsrBlocks {
 public:
  /// A block that travels takes `slot_bytes` at most. `kept` says for each device how many bytes of blocks it keeps. Those
  /// blocks come first, and each takes kLargest bytes at most.
  CsrBlocks(Csr<V> a, std::int64_t slot_bytes, std::span<const std::int64_t> kept = {}) : a_(std::move(a)) {
    const auto offsets = a_.indptr.span();
    std::int64_t row = 0;
    for (auto left : kept)
      while (row < a_.rows && left > kSmallest) {
        const auto bytes = std::min(left, kLargest);
        const auto first = first_block(offsets, row, bytes);
        if (first.piece) break;  // a row that one device's share does not hold travels in pieces
        blocks_.push_back(first);
        row += first.rows;
        left -= CsrSlot<V>(first).bytes;
      }
    for (auto b : row_blocks(offsets.subspan(static_cast<std::size_t>(row)), shape(slot_bytes))) {
      b.first_row += row;
      blocks_.push_back(b);
    }
    for (const auto& b : blocks_)
      if (b.piece) piece_ptr_.push_back(b.first_nnz), piece_ptr_.push_back(b.first_nnz + b.nnz);
    std::int64_t pieces = 0;
    for (const auto& b : blocks_) piece_number_.push_back(b.piece ? pieces++ : -1);
  }

  std::int64_t rows() const { return a_.rows; }
  std::int64_t cols() const { return a_.cols; }
  std::int64_t nnz() const { return a_.nnz(); }
  std::int64_t count() const { return std::ssize(blocks_); }
  RowBlock block(std::int64_t i) const { return blocks_[static_cast<std::size_t>(i)]; }
  std::int64_t bytes(std::int64_t i) const { return CsrSlot<V>(block(i)).bytes; }

  CopyParts copies(std::int64_t i) const {
    const auto b = block(i);
    const CsrSlot<V> at(b);
    CopyParts parts;
    const auto piece = piece_number_[static_cast<std::size_t>(i)];
    parts[0] = {piece >= 0 ? piece_ptr_.data() + 2 * piece : a_.indptr.data + b.first_row, 0,
                (b.rows + 1) * std::int64_t(sizeof(Offset))};
    parts[1] = {a_.indices.data + b.first_nnz, at.indices, b.nnz * std::int64_t(sizeof(Index))};
    if constexpr (!is_pattern<V>)
      parts[2] = {a_.values.data + b.first_nnz, at.values, b.nnz * value_bytes<V>};
    return parts;
  }

  template <Semiring S>
  void multiply(std::int64_t i, const std::byte* slot, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale, Stream stream) const {
    const auto b = block(i);
    const CsrSlot<V> at(b);
    spmv<S, V>(CsrView<V>{.rows = b.rows,
                          .cols = a_.cols,
                          .first_nnz = b.first_nnz,
                          .indptr = reinterpret_cast<const Offset*>(slot),
                          .indices = reinterpret_cast<const Index*>(slot + at.indices),
                          .values = reinterpret_cast<const V*>(slot + at.values),
                          .count = b.nnz},
               x, y, scale, stream);
  }

 private:
  static constexpr std::int64_t kLargest = 1 << 30;  // of a kept block: few launches, and none too large
  static constexpr std::int64_t kSmallest = 4096;    // a device with less left keeps no more blocks

  static BlockShape shape(std::int64_t bytes) {
    return csr_block_shape<V>(std::max(bytes - kSlotPadding, kLeastBlockBudget));
  }
  /// The block of rows from `row` on that fit `bytes`, found by bisection without cutting the rest. It is a piece without
  /// nonzeros where not even one row fits.
  static RowBlock first_block(std::span<const Offset> offsets, std::int64_t row, std::int64_t bytes) {
    const auto cut = shape(bytes);
    const auto rows = std::ssize(offsets) - 1;
    const auto cost = [&](std::int64_t end) {
      return (offsets[std::size_t(end)] - offsets[std::size_t(row)]) * cut.nnz_cost +
             (end - row) * cut.row_cost;
    };
    std::int64_t low = row, high = rows;  // the largest end that fits
    while (low < high) {
      const auto mid = low + (high - low + 1) / 2;
      if (cost(mid) <= cut.budget) low = mid;
      else high = mid - 1;
    }
    if (low < rows && low / kRowAlign * kRowAlign > row) low = low / kRowAlign * kRowAlign;
    const auto first = offsets[std::size_t(row)];
    if (low == row) return {row, 1, first, 0, true};
    return {row, low - row, first, offsets[std::size_t(low)] - first, false};
  }

  Csr<V> a_;
  std::vector<RowBlock> blocks_;
  std::vector<Offset> piece_ptr_;           // two a piece: the nonzeros where it begins and ends
  std::vector<std::int64_t> piece_number_;  // for each block which piece it is, or -1
};
static_assert(BlockSource<CsrBlocks<double>>);

}  // namespace penstock
