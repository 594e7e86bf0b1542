// Computes Y = A^T X as a scatter: entry (i, j) of A adds a_ij times row i of X to row j of Y. Threads divide the columns and
// not the rows: each walks all of A for a block of columns of its own. So no thread waits for another, nothing is held twice,
// and a column is added up in the order of A's rows for any number of threads.
#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmm/add_transposed.hpp"
#include "penstock/kernel/spmm/sddmm.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/kernel/spmm/spmm_rows.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock {
namespace {

// Bytes of a line. Two threads never write to the same line if rows of Y are whole lines.
constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kPollWork = 1 << 20;  // entries times columns between two calls of poll_interrupt()
constexpr Offset kEntriesAhead = 8;
constexpr std::int64_t kGrainBytes = 64 << 10;

template <class S, class V>
inline constexpr bool has_kernel = false;
#define X(T, V) \
  template <>   \
  inline constexpr bool has_kernel<PlusTimes<T>, V> = true;
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

template <Semiring S, class V>
void scatter(const CsrView<V>& a, std::int64_t first, DenseView<const typename S::value_type> x,
             DenseView<typename S::value_type> y, typename S::value_type alpha) {
  using T = typename S::value_type;
  if constexpr (has_kernel<S, V>) {
    static const auto kernel = spmm_kernels<T, V>().scatter;
    SpmmArgs<T, V> args{.indptr = a.indptr,
                        .indices = a.indices - a.first_nnz,
                        .values = nullptr,
                        .x = x.data + first * x.row_step,
                        .x_step = x.row_step,
                        .out = y.data,
                        .out_step = y.row_step,
                        .first = 0,
                        .last = a.rows,
                        .columns = x.cols,
                        .alpha = alpha,
                        .ahead = kEntriesAhead,
                        .known = a.indptr[a.rows]};
    if constexpr (!is_pattern<V>) args.values = a.values - a.first_nnz;
    kernel(args);
  } else {
    for (std::int64_t r = 0; r < a.rows; ++r) {
      const T* xr = x.data + (first + r) * x.row_step;
      for (Offset k = a.indptr[r] - a.first_nnz, end = a.indptr[r + 1] - a.first_nnz; k < end; ++k) {
        const T v = S::mul(entry<S>(a.values, k), alpha);
        T* out = y.data + a.indices[k] * y.row_step;
        for (std::int64_t c = 0; c < x.cols; ++c) out[c] = S::add(out[c], S::mul(v, xr[c]));
      }
    }
  }
}

}  // namespace

template <Semiring S, class V>
void spmm_transposed(CsrView<V> a, DenseView<const typename S::value_type> x,
                     DenseView<typename S::value_type> y, Scale<S> scale) {
  using T = typename S::value_type;
  if (y.cols == 0) return;
  Array<T> x_memory, y_memory;
  const auto xs = packed(x, x_memory);
  auto ys = y;
  if (!y.row_major()) {
    y_memory = allocate<T>(y.rows * y.cols);
    ys = {y_memory.data, y.rows, y.cols, y.cols, 1};
  }
  const auto grain = std::max<std::int64_t>(1, kGrainBytes / (y.cols * std::int64_t(sizeof(T))));
  parallel_ranges(y.rows, grain, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i)
      for (std::int64_t j = 0; j < y.cols; ++j) {
        T& out = ys.data[i * ys.row_step + j];
        if (scale.beta == S::zero()) out = S::zero();
        else out = S::mul(scale.beta, y.data[i * y.row_step + j * y.col_step]);
      }
  });
  const auto line = std::max<std::int64_t>(1, kCacheLine / std::int64_t(sizeof(T)));
  const auto lines = (y.cols + line - 1) / line;
  const auto width = (lines + num_threads() - 1) / num_threads() * line;
  const auto budget = std::max<std::int64_t>(1024, kPollWork / std::min(width, y.cols));
  const auto blocks = row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = budget});
  parallel_for((y.cols + width - 1) / width, [&](std::int64_t i) {
    const auto count = std::min(width, y.cols - i * width);
    for (const auto& b : blocks) {
      Offset piece_ptr[2];
      scatter<S, V>(block_view(a, b, piece_ptr), b.first_row, xs.columns(i * width, count),
                    ys.columns(i * width, count), scale.alpha);
      poll_interrupt();
    }
  });
  if (y.row_major()) return;
  parallel_ranges(y.rows, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t j = 0; j < y.cols; ++j)
      for (auto i = first; i < last; ++i)
        y.data[i * y.row_step + j * y.col_step] = ys.data[i * ys.row_step + j];
  });
}

template <class T, class V>
void add_transposed(const CsrView<V>& a, DenseView<const T> x, DenseView<T> y, T alpha) {
  scatter<PlusTimes<T>, V>(a, 0, x, y, alpha);
}

#define X(T, V) template void add_transposed<T, V>(const CsrView<V>&, DenseView<const T>, DenseView<T>, T);
PENSTOCK_FOR_EACH_SDDMM(X)
#undef X
#define X(S, V)                                                                                             \
  template void spmm_transposed<S, V>(CsrView<V>, DenseView<const S::value_type>, DenseView<S::value_type>, \
                                      Scale<S>);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
