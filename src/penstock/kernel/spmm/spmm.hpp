#pragma once
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// Several vectors side by side: entry (i, j) is data[i * row_step + j * col_step]. Steps count entries of T and may have any
/// sign. The view is row-major if col_step is 1, and column-major if row_step is 1.
template <class T>
struct DenseView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_step = 0, col_step = 1;

  bool row_major() const { return col_step == 1 || cols <= 1; }
  DenseView columns(std::int64_t first, std::int64_t count) const {
    return {data + first * col_step, rows, count, row_step, col_step};
  }
  DenseView from_row(std::int64_t first) const {
    return {data + first * row_step, rows - first, cols, row_step, col_step};
  }
};

/// What parts of one product share that are computed one by one: how it is computed, which the whole matrix decides, and the
/// copy of X where there is one.
template <class T>
struct SpmmShared {
  std::int64_t width = 0;  // columns of a panel
  bool copies = false, prefetches = false, streams = false;
  Array<T> memory;          // for panels, one behind the other
  std::int64_t copied = 0;  // columns that are there
};
/// Of Y = A X with the whole A.
template <Semiring S, class V>
SpmmShared<typename S::value_type> spmm_shared(const CsrView<V>& whole,
                                               DenseView<const typename S::value_type> x);

/// Y = alpha A X + beta Y on the CPU; A is read once for a panel of columns. X has a.cols rows and Y has a.rows; they do not
/// overlap. The bits are the same for any number of threads and any layout of X and Y. `shared`: A is some rows of a matrix,
/// and X is that of the parts before; the sum of a very long row is then cut into pieces by the part's size, so its last bits
/// may be others than those of the whole product.
template <Semiring S, class V>
void spmm(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale, SpmmShared<typename S::value_type>* shared = nullptr);

/// Y = alpha A^T X + beta Y without forming A^T. X has a.rows rows and Y has a.cols.
template <Semiring S, class V>
void spmm_transposed(CsrView<V> a, DenseView<const typename S::value_type> x,
                     DenseView<typename S::value_type> y, Scale<S> scale);

/// The product of one tile on the calling thread, for schedules that hand out rows; X is row-major.
template <Semiring S, class V>
void spmm_tile(const CsrView<V>& a, DenseView<const typename S::value_type> x,
               DenseView<typename S::value_type> y, Scale<S> scale);

/// X itself if it is row-major, or else a row-major copy in `memory`.
template <class T>
DenseView<const T> packed(DenseView<const T> x, Array<T>& memory);

/// The sums of the pieces of split rows. Each block has a row of `columns` sums; `finish` adds them up in order.
template <Semiring S>
class PieceRows {
 public:
  using T = typename S::value_type;
  PieceRows(std::span<const RowBlock> blocks, std::int64_t columns) : blocks_(blocks), columns_(columns) {
    std::int64_t count = 0;
    for (const auto& b : blocks) count += b.piece;
    if (count == 0) return;
    at_.resize(blocks.size());
    cells_.resize(static_cast<std::size_t>(count * columns));
    for (std::size_t i = 0, n = 0; i < blocks.size(); ++i)
      if (blocks[i].piece) at_[i] = n++;
  }
  DenseView<T> cell(std::int64_t block) {
    const auto at = static_cast<std::int64_t>(at_[static_cast<std::size_t>(block)]);
    return {cells_.data() + at * columns_, 1, columns_, columns_, 1};
  }
  void finish(DenseView<T> y, Scale<S> scale) {
    for (std::size_t i = 0; i < at_.size();) {
      if (!blocks_[i].piece) {
        ++i;
        continue;
      }
      const auto row = blocks_[i].first_row;
      T* sum = cell(static_cast<std::int64_t>(i)).data;
      for (++i; i < at_.size() && blocks_[i].piece && blocks_[i].first_row == row; ++i) {
        const T* more = cell(static_cast<std::int64_t>(i)).data;
        for (std::int64_t j = 0; j < columns_; ++j) sum[j] = S::add(sum[j], more[j]);
      }
      for (std::int64_t j = 0; j < columns_; ++j) {
        T& out = y.data[row * y.row_step + j * y.col_step];
        out = scale(sum[j], out);
      }
    }
  }

 private:
  std::span<const RowBlock> blocks_;
  std::int64_t columns_;
  std::vector<std::size_t> at_;
  std::vector<T> cells_;
};

}  // namespace penstock
