#pragma once
#include <span>
#include <vector>

#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// The sums of the pieces of split rows, one cell for each block. `finish` adds up the cells of each row in order, and writes
/// the row's entry of y. Cells of blocks that are whole rows are not used.
template <Semiring S>
class Pieces {
 public:
  using T = typename S::value_type;
  explicit Pieces(std::span<const RowBlock> blocks) : blocks_(blocks) {
    for (const auto& b : blocks)
      if (b.piece) {
        cells_.resize(blocks.size(), S::zero());
        break;
      }
  }
  T* cell(std::int64_t block) { return &cells_[static_cast<std::size_t>(block)]; }

  void finish(T* y, Scale<S> scale) const {
    for (std::size_t i = 0; i < cells_.size();) {
      if (!blocks_[i].piece) {
        ++i;
        continue;
      }
      const auto row = blocks_[i].first_row;
      T sum = S::zero();
      for (; i < cells_.size() && blocks_[i].piece && blocks_[i].first_row == row; ++i)
        sum = S::add(sum, cells_[i]);
      y[row] = scale(sum, y[row]);
    }
  }

 private:
  std::span<const RowBlock> blocks_;
  std::vector<T> cells_;
};

}  // namespace penstock
