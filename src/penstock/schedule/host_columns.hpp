#pragma once
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/schedule/gpu_operands.hpp"

namespace penstock {

/// A chunk of X and Y in host memory, row after row without gaps: the user's own where it is so, else copies. `finish` takes
/// a copied Y back to the user's.
template <class T>
class HostColumns {
 public:
  HostColumns(DenseView<const T> x, DenseView<T> y, bool reads_y) : x(x), y(y), users_(y) {
    if (!dense(x)) {
      x_memory_ = allocate<T>(x.rows * x.cols);
      const DenseView<T> copy{x_memory_.data, x.rows, x.cols, x.cols, 1};
      copy_rows(x, copy);
      this->x = {copy.data, x.rows, x.cols, x.cols, 1};
    }
    if (dense(y)) return;
    y_memory_ = allocate<T>(y.rows * y.cols);
    this->y = {y_memory_.data, y.rows, y.cols, y.cols, 1};
    if (reads_y) copy_rows(y, this->y);
  }
  void finish() {
    if (y.data != users_.data) copy_rows(y, users_);
  }
  HostOperands<T> operands() const { return {x.data, x.rows, y.data, y.rows, x.cols}; }

  DenseView<const T> x;
  DenseView<T> y;

 private:
  static constexpr std::int64_t kRowsAtOnce = 4096;  // of a thread's share of a copy

  template <class U>
  static bool dense(const DenseView<U>& v) {
    return v.row_major() && (v.row_step == v.cols || v.rows <= 1);
  }
  template <class From>
  static void copy_rows(DenseView<From> from, DenseView<T> to) {
    parallel_ranges(from.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i)
        for (std::int64_t j = 0; j < from.cols; ++j)
          to.data[i * to.row_step + j * to.col_step] = from.data[i * from.row_step + j * from.col_step];
    });
  }
  DenseView<T> users_;
  Array<T> x_memory_, y_memory_;
};

}  // namespace penstock
