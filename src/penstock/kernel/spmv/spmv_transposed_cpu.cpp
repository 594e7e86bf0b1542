// Computes y = A^T x as a scatter: entry (i, j) adds a_ij x_i to y_j. The rows are cut into shares of equal work, one for each
// thread. The first share scatters into y itself, each other one into a vector of its own, and these are added in order at
// the end. So the result depends on the number of threads, but only by rounding.
#include <algorithm>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBlockCost = 64 << 10;
constexpr std::int64_t kTransposedGrain = 16 << 10;

/// How many shares are worth their private vectors, which may cost as much memory traffic as the matrix, but no more.
template <class T, class V>
std::int64_t share_count(const CsrView<V>& a) {
  const auto matrix = a.nnz() * static_cast<std::int64_t>(sizeof(Index) + sizeof(T));
  const auto vector = 3 * a.cols * static_cast<std::int64_t>(sizeof(T)) + 1;
  return std::clamp<std::int64_t>(1 + matrix / vector, 1, num_threads());
}

template <Semiring S, class V>
void scatter(const CsrView<V>& a, const RowBlock& b, const typename S::value_type* x,
             typename S::value_type alpha, typename S::value_type* y) {
  Offset piece_ptr[2];
  const auto view = block_view(a, b, piece_ptr);
  for (std::int64_t r = 0; r < b.rows; ++r) {
    const auto xr = S::mul(alpha, x[b.first_row + r]);
    for (Offset k = view.indptr[r] - view.first_nnz, end = view.indptr[r + 1] - view.first_nnz; k < end;
         ++k) {
      auto& out = y[view.indices[k]];
      out = S::add(out, S::mul(entry<S>(view.values, k), xr));
    }
  }
}

}  // namespace

template <Semiring S, class V>
void spmv_transposed(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y,
                     Scale<S> scale) {
  using T = typename S::value_type;
  const auto blocks = row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = kBlockCost});
  const auto shares = std::min(share_count<T>(a), std::max<std::int64_t>(1, std::ssize(blocks)));
  std::vector<Array<T>> partial(static_cast<std::size_t>(shares));
  for (std::size_t s = 1; s < partial.size(); ++s) partial[s] = allocate<T>(a.cols);
  parallel_ranges(a.cols, kTransposedGrain, [&](std::int64_t first, std::int64_t last) {
    for (auto j = first; j < last; ++j) y[j] = scale.beta == S::zero() ? S::zero() : S::mul(scale.beta, y[j]);
    for (std::size_t s = 1; s < partial.size(); ++s)
      std::fill(partial[s].data + first, partial[s].data + last, S::zero());
  });
  parallel_for(shares, [&](std::int64_t s) {
    T* out = s == 0 ? y : partial[static_cast<std::size_t>(s)].data;
    const auto count = std::ssize(blocks);
    for (auto i = count * s / shares; i < count * (s + 1) / shares; ++i) {
      scatter<S, V>(a, blocks[static_cast<std::size_t>(i)], x, scale.alpha, out);
      poll_interrupt();
    }
  });
  if (shares == 1) return;
  parallel_ranges(a.cols, kTransposedGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::size_t s = 1; s < partial.size(); ++s)
      for (auto j = first; j < last; ++j) y[j] = S::add(y[j], partial[s].data[j]);
  });
}

#define X(S, V) \
  template void spmv_transposed<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
