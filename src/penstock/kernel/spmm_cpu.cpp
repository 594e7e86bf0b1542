// Y = A X, a row of Y at a time: its tile of columns is a handful of registers (spmm_rows_loops.hpp) to which each entry
// of the row adds a multiple of a row of X. What costs is reading those rows of X.
#include "penstock/kernel/spmm.hpp"

#include <algorithm>
#include <cstdlib>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmm_rows.hpp"
#include "penstock/kernel/spmv_rows.hpp"

namespace penstock {
namespace {

std::int64_t env(const char* n, std::int64_t d) { const char* s = std::getenv(n); return s ? std::atoll(s) : d; }

constexpr std::int64_t kBufferRows = 64;

template <class S, class V>
inline constexpr bool has_rows_kernel = false;
#define X(T, V) \
  template <>   \
  inline constexpr bool has_rows_kernel<PlusTimes<T>, V> = true;
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

/// What no vector kernel covers: 16 columns at a time, in any semiring and type.
template <Semiring S, class V>
void generic_rows(const CsrView<V>& a, std::int64_t first, std::int64_t last,
                  DenseView<const typename S::value_type> x, typename S::value_type* out,
                  std::int64_t out_step, const Scale<S>& scale) {
  using T = typename S::value_type;
  constexpr std::int64_t kTile = 16;
  for (auto r = first; r < last; ++r, out += out_step) {
    const Offset begin = a.indptr[r] - a.first_nnz, end = a.indptr[r + 1] - a.first_nnz;
    for (std::int64_t c = 0; c < x.cols; c += kTile) {
      const auto width = std::min(kTile, x.cols - c);
      T sum[kTile];
      for (auto& s : sum) s = S::zero();
      for (Offset k = begin; k < end; ++k) {
        const T v = entry<S>(a.values, k);
        const T* row = x.data + a.indices[k] * x.row_step + c;
        if (width == kTile)
          for (std::int64_t j = 0; j < kTile; ++j) sum[j] = S::add(sum[j], S::mul(v, row[j]));
        else
          for (std::int64_t j = 0; j < width; ++j) sum[j] = S::add(sum[j], S::mul(v, row[j]));
      }
      for (std::int64_t j = 0; j < width; ++j) out[c + j] = scale(sum[j], out[c + j]);
    }
  }
}

template <Semiring S, class V>
void rows(const CsrView<V>& a, std::int64_t first, std::int64_t last,
          DenseView<const typename S::value_type> x, typename S::value_type* out, std::int64_t out_step,
          const Scale<S>& scale) {
  using T = typename S::value_type;
  if constexpr (has_rows_kernel<S, V>) {
    static const auto kernel = spmm_kernels<T, V>().rows;
    SpmmArgs<T, V> args{.indptr = a.indptr,
                        .indices = a.indices - a.first_nnz,
                        .values = nullptr,
                        .x = x.data,
                        .x_step = x.row_step,
                        .out = out,
                        .out_step = out_step,
                        .first = first,
                        .last = last,
                        .columns = x.cols,
                        .alpha = scale.alpha,
                        .beta = scale.beta};
    if constexpr (!is_pattern<V>) args.values = a.values - a.first_nnz;
    const auto ahead = env("SPMM_AHEAD", 16);
    args.ahead = ahead;
    args.known = a.indptr[a.rows];
    const auto stream = env("SPMM_STREAM", 0);
    args.streams = stream && scale.beta == T(0) && (reinterpret_cast<std::uintptr_t>(out) % 64 == 0) &&
                   out_step * sizeof(T) % 64 == 0 && x.cols * sizeof(T) % 64 == 0;
    kernel(args);
  } else {
    generic_rows<S, V>(a, first, last, x, out, out_step, scale);
  }
}

/// Copies rows [first, last) of one layout to another.
template <class T>
void copy_rows(DenseView<const T> from, std::int64_t first, std::int64_t last, T* to, std::int64_t to_step) {
  if (from.col_step == 1) {
    for (auto i = first; i < last; ++i)
      std::copy_n(from.data + i * from.row_step, from.cols, to + i * to_step);
    return;
  }
  constexpr std::int64_t kEdge = 16;
  for (auto i = first; i < last; i += kEdge)
    for (std::int64_t j = 0; j < from.cols; j += kEdge)
      for (auto r = i, end = std::min(i + kEdge, last); r < end; ++r)
        for (auto c = j, stop = std::min(j + kEdge, from.cols); c < stop; ++c)
          to[r * to_step + c] = from.data[r * from.row_step + c * from.col_step];
}

template <class T>
DenseView<const T> packed_panel(DenseView<const T> x, Array<T>& memory, bool always) {
  if (!always && x.row_major()) return x;
  const auto step = x.cols;
  if (memory.size < x.rows * step) memory = allocate<T>(x.rows * step);
  parallel_ranges(x.rows, 1024, [&](std::int64_t first, std::int64_t last) {
    copy_rows(x, first, last, memory.data, step);
  });
  return {memory.data, x.rows, x.cols, step, 1};
}

}  // namespace

template <class T>
DenseView<const T> packed(DenseView<const T> x, Array<T>& memory) {
  return packed_panel(x, memory, false);
}

template <Semiring S, class V>
void spmm_tile(const CsrView<V>& a, DenseView<const typename S::value_type> x,
               DenseView<typename S::value_type> y, Scale<S> scale) {
  using T = typename S::value_type;
  if (y.row_major()) return rows<S, V>(a, 0, a.rows, x, y.data, y.row_step, scale);
  std::vector<T> buffer(static_cast<std::size_t>(kBufferRows * x.cols));
  for (std::int64_t first = 0; first < a.rows; first += kBufferRows) {
    const auto last = std::min(first + kBufferRows, a.rows);
    rows<S, V>(a, first, last, x, buffer.data(), x.cols, {});
    for (std::int64_t j = 0; j < x.cols; ++j)
      for (auto r = first; r < last; ++r) {
        T& out = y.data[r * y.row_step + j * y.col_step];
        out = scale(buffer[static_cast<std::size_t>((r - first) * x.cols + j)], out);
      }
  }
}

template <Semiring S, class V>
void spmm(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale) {
  using T = typename S::value_type;
  if (x.cols == 0) return;
  const auto panel_env = env("SPMM_PANEL", 1 << 20), pack = env("SPMM_PACK", 0), cost = env("SPMM_COST", 1 << 20);
  const auto budget = std::clamp((a.nnz() + a.rows) / 32, std::int64_t(512), std::clamp(cost / x.cols, std::int64_t(2048), std::int64_t(32 << 10)));
  const auto blocks = row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = budget});
  const auto panel = std::min(x.cols, panel_env);
  Array<T> memory;
  for (std::int64_t c = 0; c < x.cols; c += panel) {
    const auto width = std::min(panel, x.cols - c);
    const auto xs = packed_panel(x.columns(c, width), memory, pack);
    const auto ys = y.columns(c, width);
    PieceRows<S> pieces(blocks, width);
    parallel_for(std::ssize(blocks), [&](std::int64_t i) {
      const auto& b = blocks[static_cast<std::size_t>(i)];
      Offset piece_ptr[2];
      const auto view = block_view(a, b, piece_ptr);
      if (b.piece) spmm_tile<S, V>(view, xs, pieces.cell(i), {});
      else spmm_tile<S, V>(view, xs, ys.from_row(b.first_row), scale);
    });
    pieces.finish(ys, scale);
  }
}

#define X(S, V)                                                                                            \
  template void spmm<S, V>(CsrView<V>, DenseView<const S::value_type>, DenseView<S::value_type>, Scale<S>); \
  template void spmm_tile<S, V>(const CsrView<V>&, DenseView<const S::value_type>, DenseView<S::value_type>, \
                                Scale<S>);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X
#define X(T) template DenseView<const T> packed(DenseView<const T>, Array<T>&);
X(float)
X(double)
X(Complex64)
X(Complex128)
X(std::uint8_t)
#undef X

}  // namespace penstock
