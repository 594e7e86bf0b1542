#include "penstock/kernel/spmm/spmm_normal.hpp"

#include <algorithm>
#include <complex>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmm/add_transposed.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kNormalBlockBytes =
    256 << 10;                               // of entries and rows of A X: a part of the second-level cache
constexpr std::int64_t kNormalLine = 64;     // bytes that two threads must not both write
constexpr std::int64_t kNormalRange = 4096;  // rows that a thread clears or conjugates at a time

/// Blocks of whole rows: the row of A X must be complete before it is used.
std::vector<RowBlock> whole_rows(std::span<const Offset> indptr, const BlockShape& shape) {
  std::vector<RowBlock> whole;
  for (const auto& b : row_blocks(indptr, shape)) {
    if (b.piece && !whole.empty() && whole.back().first_row == b.first_row) whole.back().nnz += b.nnz;
    else whole.push_back({b.first_row, b.rows, b.first_nnz, b.nnz, false});
  }
  return whole;
}

template <class T>
void conjugate(T* at, std::int64_t count) {
  if constexpr (!std::is_floating_point_v<T>)
    for (std::int64_t i = 0; i < count; ++i) at[i] = std::conj(at[i]);
}

}  // namespace

template <class T, class V>
void spmm_normal(const CsrView<V>& a, DenseView<const T> x, DenseView<T> z, double factor) {
  require(x.row_major() && z.row_major() && x.rows == a.cols && z.rows == a.cols && x.cols == z.cols,
          "Z = A^H A X: X and Z are row-major and have a row for each column of A");
  if (z.cols == 0) return;
  const auto alpha = static_cast<T>(static_cast<decltype(std::abs(T()))>(factor));
  const auto each_row = [&](auto&& f) {
    parallel_ranges(z.rows, kNormalRange, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) f(z.data + i * z.row_step);
    });
  };
  each_row([&](T* row) { std::fill_n(row, z.cols, T(0)); });
  const auto size = std::int64_t(sizeof(T)), line = std::max<std::int64_t>(1, kNormalLine / size);
  const auto width = ((z.cols + line - 1) / line + num_threads() - 1) / num_threads() * line;
  const auto blocks = whole_rows({a.indptr, static_cast<std::size_t>(a.rows + 1)},
                                 {.budget = kNormalBlockBytes,
                                  .nnz_cost = std::int64_t(sizeof(Index)) + value_bytes<V>,
                                  .row_cost = std::int64_t(sizeof(Offset)) + width * size});
  std::int64_t rows = 0;
  for (const auto& b : blocks) rows = std::max(rows, b.rows);
  parallel_for((z.cols + width - 1) / width, [&](std::int64_t i) {
    const auto count = std::min(width, z.cols - i * width);
    std::vector<T> some(static_cast<std::size_t>(rows * count));
    for (const auto& b : blocks) {
      poll_interrupt();
      const auto view = block_view(a, b, nullptr);
      const DenseView<T> y{some.data(), b.rows, count, count, 1};
      spmm_tile<PlusTimes<T>, V>(view, x.columns(i * width, count), y, {.alpha = alpha});
      conjugate(y.data, b.rows * count);  // A^T conj(y) is the conjugate of A^H y
      add_transposed<T, V>(view, {y.data, y.rows, y.cols, y.row_step, 1}, z.columns(i * width, count), alpha);
    }
  });
  if constexpr (!std::is_floating_point_v<T>) each_row([&](T* row) { conjugate(row, z.cols); });
}

#define X(T, V) template void spmm_normal<T, V>(const CsrView<V>&, DenseView<const T>, DenseView<T>, double);
PENSTOCK_FOR_EACH_SDDMM(X)
#undef X

}  // namespace penstock
