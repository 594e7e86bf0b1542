// The product y = A x by rows, balanced by nonzeros. Threads claim blocks of at most kBlockCost nonzeros plus rows. A row that
// is longer than a block is split; each piece writes its sum to a cell of its own, and the cells are added in order. So the
// result is the same for any number of threads.
#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmv/pieces.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock::cpu {
namespace {

constexpr std::int64_t kBlockCost = 32 << 10;
// A few microseconds; with smaller blocks, claiming them costs time.
constexpr std::int64_t kSmallestBlock = 4 << 10;
constexpr std::int64_t kBlocks = 32;  // blocks at least, for balance, as long as they stay large enough
constexpr std::int64_t kBufferRows = 512;
// How many bytes ahead the entries of the matrix are prefetched if no cache holds them. Without it the same products ran at
// 0.63 to 0.85 of the speed (Laplacian 128^3, a band, R-MAT 18 and 20, uniform).
constexpr std::size_t kAhead = 2048;
// Bytes of entries that stay in the last-level cache, where prefetching costs a tenth and more (Laplacians on a Zen 5 with
// 32 MB: up to 14 MB it lost 0.06 to 0.12, from 21 MB on it won 0.3 and more).
constexpr std::int64_t kCached = 16 << 20;

template <class S, class V>
inline constexpr bool has_rows_kernel = false;
#define X(T, V) \
  template <>   \
  inline constexpr bool has_rows_kernel<PlusTimes<T>, V> = true;
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

template <Semiring S, class V>
typename S::value_type row_sum(const CsrView<V>& a, std::int64_t row, const typename S::value_type* x) {
  auto sum = S::zero();
  for (Offset k = a.indptr[row] - a.first_nnz, end = a.indptr[row + 1] - a.first_nnz; k < end; ++k)
    sum = S::add(sum, S::mul(entry<S>(a.values, k), x[a.indices[k]]));
  return sum;
}

/// Computes all rows of a view into y, by the vector kernel if there is one for these types.
template <Semiring S, class V>
void rows(const CsrView<V>& a, const typename S::value_type* x, typename S::value_type* y,
          const Scale<S>& scale, [[maybe_unused]] bool cached) {
  using T = typename S::value_type;
  if constexpr (has_rows_kernel<S, V>) {
    static const auto kernel = rows_kernel<T, V>();
    RowsArgs<T, V> args{a.indptr, a.indices - a.first_nnz, nullptr, x, y, 0, a.rows};
    if constexpr (!is_pattern<V>) args.values = a.values - a.first_nnz;
    if (a.ahead_indices) args.ahead_indices = a.ahead_indices - a.first_nnz;
    else if (!cached) args.ahead_indices = args.indices + kAhead / sizeof(Index);
    if constexpr (!is_pattern<V>)
      args.ahead_values = a.ahead_values ? a.ahead_values - a.first_nnz : args.values + kAhead / sizeof(V);
    if (scale.plain()) return kernel(args);
    T buffer[kBufferRows];
    args.out = buffer;
    for (args.first = 0; args.first < a.rows; args.first = args.last) {
      args.last = std::min(args.first + kBufferRows, a.rows);
      kernel(args);
      for (auto r = args.first; r < args.last; ++r) y[r] = scale(buffer[r - args.first], y[r]);
    }
  } else {
    for (std::int64_t r = 0; r < a.rows; ++r) y[r] = scale(row_sum<S, V>(a, r, x), y[r]);
  }
}

}  // namespace

template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          ProductDots<typename S::value_type>* dots) {
  const auto budget = std::clamp((a.nnz() + a.rows) / kBlocks, kSmallestBlock, kBlockCost);
  const auto blocks = row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = budget});
  Pieces<S> pieces(blocks);
  const bool cached = a.nnz() * static_cast<std::int64_t>(sizeof(Index) + value_bytes<V>) < kCached;
  if (dots) dots->start(std::ssize(blocks));
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    const auto& b = blocks[static_cast<std::size_t>(i)];
    Offset piece_ptr[2];
    const auto view = block_view(a, b, piece_ptr);
    if (b.piece) rows<S, V>(view, x, pieces.cell(i), {}, cached);
    else rows<S, V>(view, x, y + b.first_row, scale, cached);
    if (dots && !b.piece) dots->add(i, y, b.first_row, b.first_row + b.rows);
  });
  pieces.finish(y, scale);
  if (!dots) return;
  // The inner products of split rows, whose sums are complete now.
  for (std::int64_t i = 0; i < std::ssize(blocks); ++i) {
    const auto& b = blocks[static_cast<std::size_t>(i)];
    if (b.piece && b.first_nnz == a.indptr[b.first_row]) dots->add(i, y, b.first_row, b.first_row + 1);
  }
}

#define X(S, V)                                                                        \
  template void spmv<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>, \
                           ProductDots<S::value_type>*);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock::cpu
