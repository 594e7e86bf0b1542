// Computes Y = A X, one row of Y after the other: a tile of its columns is in a handful of registers (spmm_rows_loops.hpp), to
// which each entry of A's row adds a multiple of a row of X. The cost is in moving the rows of X and of Y through the caches.
// If a matrix reads rows of X often, X is copied into panels that fit the caches better; a large Y is written around the
// caches.
#include "penstock/kernel/spmm/spmm.hpp"

#include <algorithm>
#include <cstdlib>

#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/spmm/spmm_blocks.hpp"
#include "penstock/kernel/spmm/spmm_rows.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock {
namespace {

// The measurements here are GFLOP/s in float64 of one thread of a Xeon with 2 MB of second-level cache.
constexpr std::int64_t kLine = 64;
// Bytes of a panel's row. R-MAT 18 (29 entries a row), 128 columns: 128 bytes 4.4, 256 bytes 5.3, 512 bytes 4.4, without
// panels 3.9.
constexpr std::int64_t kPanelBytes = 256;
// An X with fewer bytes stays in the second-level cache as it is, and nothing is prefetched.
constexpr std::int64_t kCacheBytes = 1 << 20;
// A row of X that is read so often is worth copying. R-MAT 18, 32 columns that do not begin with a line: 4.1 without the copy,
// 5.7 with it.
constexpr std::int64_t kReads = 12;
// A Y of at least this size is written around the caches. Laplacian 128^3, 32 columns: 6.6 through them, 9.0 around them.
constexpr std::int64_t kStreamedBytes = 8 << 20;
constexpr Offset kAhead = 8;  // entries ahead to prefetch: 4 to 32 were alike, up to a tenth better than none
// If at least this share of entries reads near rows of X, X is not copied: xenon1 with 128 columns of float64 (0.89) was twice
// as fast uncopied.
constexpr std::int64_t kNearParts = 17, kNearWhole = 20;  // 0.85
constexpr std::int64_t kBufferRows = 64;
constexpr std::int64_t kCopyRows = 1024;

/// How a tile is computed; SpmmArgs says what the members mean.
struct TileOptions {
  int sums = 1;
  bool streams = false, peels = false, prefetches = false;
};

/// How many sums are computed side by side. It depends on the width of the whole product alone, so that neither panels nor
/// addresses change a bit of the result.
template <class T>
int sums_of(std::int64_t columns) {
  const auto bytes = columns * static_cast<std::int64_t>(sizeof(T));
  return bytes <= kLine ? 4 : bytes <= 3 * kLine ? 2 : 1;
}

template <class S, class V>
inline constexpr bool has_rows_kernel = false;
#define X(T, V) \
  template <>   \
  inline constexpr bool has_rows_kernel<PlusTimes<T>, V> = true;
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

/// The product in any semiring and type, for those without a vector kernel: 16 columns at a time.
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
          const Scale<S>& scale, TileOptions options) {
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
                        .beta = scale.beta,
                        .streams = options.streams,
                        .peels = options.peels,
                        .sums = options.sums,
                        .ahead = options.prefetches ? kAhead : 0,
                        .known = a.indptr[a.rows]};
    if constexpr (!is_pattern<V>) args.values = a.values - a.first_nnz;
    kernel(args);
  } else {
    generic_rows<S, V>(a, first, last, x, out, out_step, scale);
  }
}

/// Copies rows [first, last) of one layout to another.
template <class T>
void copy_rows(DenseView<const T> from, std::int64_t first, std::int64_t last, T* to, std::int64_t to_step) {
  if (from.col_step == 1) {
    if constexpr (std::same_as<T, float> || std::same_as<T, double>)
      if (from.cols * std::int64_t(sizeof(T)) % 64 == 0 && to_step == from.cols)
        return spmm_kernels<T, T>().copy(from.data + first * from.row_step, from.row_step,
                                         to + first * to_step, last - first, from.cols);
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
DenseView<const T> copied(DenseView<const T> x, Array<T>& memory) {
  if (memory.size < x.rows * x.cols) memory = reuse<T>(x.rows * x.cols);
  parallel_ranges(x.rows, kCopyRows, [&](std::int64_t first, std::int64_t last) {
    copy_rows(x, first, last, memory.data, x.cols);
  });
  return {memory.data, x.rows, x.cols, x.cols, 1};
}

template <class T>
bool begins_with_line(const T* data, std::int64_t row_step) {
  return reinterpret_cast<std::uintptr_t>(data) % kLine == 0 &&
         row_step * static_cast<std::int64_t>(sizeof(T)) % kLine == 0;
}

/// Whether most of the matrix reads rows of X near those that the row above read, as meshes do. X then passes through the
/// second-level cache only once, without a copy. It looks at a sample of rows.
template <class V>
bool is_near(const CsrView<V>& a, std::int64_t row_bytes) {
  constexpr std::int64_t kSample = 512;
  const double slope = static_cast<double>(a.cols) / static_cast<double>(a.rows);
  const auto reach = kCacheBytes / row_bytes;
  std::int64_t near = 0, all = 0;
  for (std::int64_t i = 0; i < kSample; ++i) {
    const auto row = a.rows / kSample * i + a.rows % kSample * i / kSample;
    const auto middle = static_cast<std::int64_t>(slope * static_cast<double>(row));
    const Offset first = a.indptr[row] - a.first_nnz;
    const Offset count = std::min<Offset>(a.indptr[row + 1] - a.indptr[row], 64);
    for (Offset k = first; k < first + count; ++k) near += std::abs(a.indices[k] - middle) <= reach;
    all += count;
  }
  return near * kNearWhole >= all * kNearParts;
}

template <Semiring S, class V>
void tile(const CsrView<V>& a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale, TileOptions options) {
  using T = typename S::value_type;
  if (y.row_major()) return rows<S, V>(a, 0, a.rows, x, y.data, y.row_step, scale, options);
  options.streams = options.peels = false;
  std::vector<T> buffer(static_cast<std::size_t>(kBufferRows * x.cols));
  for (std::int64_t first = 0; first < a.rows; first += kBufferRows) {
    const auto last = std::min(first + kBufferRows, a.rows);
    rows<S, V>(a, first, last, x, buffer.data(), x.cols, {}, options);
    for (std::int64_t j = 0; j < x.cols; ++j)
      for (auto r = first; r < last; ++r) {
        T& out = y.data[r * y.row_step + j * y.col_step];
        out = scale(buffer[static_cast<std::size_t>((r - first) * x.cols + j)], out);
      }
  }
}

}  // namespace

template <class T>
DenseView<const T> packed(DenseView<const T> x, Array<T>& memory) {
  return x.row_major() ? x : copied(x, memory);
}

template <Semiring S, class V>
void spmm_tile(const CsrView<V>& a, DenseView<const typename S::value_type> x,
               DenseView<typename S::value_type> y, Scale<S> scale) {
  using T = typename S::value_type;
  const bool large = x.rows * x.cols > kCacheBytes / std::int64_t(sizeof(T));
  tile<S, V>(a, x, y, scale, {.sums = sums_of<T>(x.cols), .prefetches = large});
}

template <Semiring S, class V>
SpmmShared<typename S::value_type> spmm_shared(const CsrView<V>& a,
                                               DenseView<const typename S::value_type> x) {
  using T = typename S::value_type;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T)), kWidth = kPanelBytes / kSize;
  const bool far = a.rows > 0 && x.rows * x.cols > kCacheBytes / kSize && !is_near(a, x.cols * kSize);
  const bool often = far && a.nnz() / kReads >= x.rows;
  SpmmShared<T> out{x.cols, often && !begins_with_line(x.data, x.row_step),
                    far,    a.rows * x.cols >= kStreamedBytes / kSize,
                    {},     0};
  if (!x.row_major()) out.width = std::min(x.cols, kWidth), out.copies = true;
  else if (often && x.cols > kWidth) out.width = kWidth, out.copies = true;
  return out;
}

template <Semiring S, class V>
void spmm(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale, SpmmShared<typename S::value_type>* shared) {
  using T = typename S::value_type;
  if (x.cols == 0) return;
  const auto budget = spmm_block_cost(a.rows, a.nnz(), x.cols);
  const auto blocks = row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = budget});
  auto of_this = shared ? SpmmShared<T>{} : spmm_shared<S, V>(a, x);
  auto& panels = shared ? *shared : of_this;
  // The vectors of a tile may be aligned to the lines of Y. A copy of X begins with a line of its own.
  const bool lines = y.row_major() && begins_with_line<T>(nullptr, y.row_step) &&
                     panels.width * std::int64_t(sizeof(T)) >= 2 * kLine &&
                     (!panels.copies || begins_with_line(y.data, y.row_step));
  const bool alike =
      begins_with_line<T>(nullptr, x.row_step) &&
      (reinterpret_cast<std::uintptr_t>(x.data) - reinterpret_cast<std::uintptr_t>(y.data)) % kLine == 0;
  const TileOptions plain{.sums = sums_of<T>(x.cols), .prefetches = panels.prefetches};
  TileOptions options = plain;
  options.streams = lines && scale.beta == S::zero() && panels.streams;
  options.peels = options.streams || (lines && alike);
  Array<T> memory;
  for (std::int64_t c = 0; c < x.cols; c += panels.width) {
    const auto width = std::min(panels.width, x.cols - c);
    auto xs = x.columns(c, width);
    if (panels.copies && shared) {
      if (shared->memory.size < x.rows * x.cols)
        shared->memory = reuse<T>(x.rows * x.cols), shared->copied = 0;
      Array<T> here = shared->memory;
      here.data += c * x.rows, here.size = x.rows * width;
      if (shared->copied <= c) copied(xs, here), shared->copied = c + width;
      xs = {here.data, x.rows, width, width, 1};
    } else if (panels.copies) {
      xs = copied(xs, memory);
    }
    const auto ys = y.columns(c, width);
    PieceRows<S> pieces(blocks, width);
    parallel_for(std::ssize(blocks), [&](std::int64_t i) {
      const auto& b = blocks[static_cast<std::size_t>(i)];
      Offset piece_ptr[2];
      const auto view = block_view(a, b, piece_ptr);
      if (b.piece) tile<S, V>(view, xs, pieces.cell(i), {}, plain);
      else tile<S, V>(view, xs, ys.from_row(b.first_row), scale, options);
    });
    pieces.finish(ys, scale);
  }
}

#define X(S, V)                                                                                              \
  template SpmmShared<S::value_type> spmm_shared<S, V>(const CsrView<V>&, DenseView<const S::value_type>);   \
  template void spmm<S, V>(CsrView<V>, DenseView<const S::value_type>, DenseView<S::value_type>, Scale<S>,   \
                           SpmmShared<S::value_type>*);                                                      \
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
