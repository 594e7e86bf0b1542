// Rows balanced by nonzeros. Blocks of about kBlockCost nonzeros plus rows are claimed by threads; a row longer than a
// block is split, each piece sums into its own cell, and the cells are added in order: the result is the same for any
// number of threads.
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/pieces.hpp"

namespace penstock::cpu {
namespace {

constexpr std::int64_t kBlockCost = 32 << 10;

template <Semiring S, class V>
typename S::value_type row_sum(const CsrView<V>& a, std::int64_t row, const typename S::value_type* x) {
  auto sum = S::zero();
  for (Offset k = a.indptr[row] - a.first_nnz, end = a.indptr[row + 1] - a.first_nnz; k < end; ++k)
    sum = S::add(sum, S::mul(entry<S>(a.values, k), x[a.indices[k]]));
  return sum;
}

}  // namespace

template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale) {
  const auto blocks = row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = kBlockCost});
  Pieces<S> pieces(blocks);
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    const auto& b = blocks[static_cast<std::size_t>(i)];
    Offset piece_ptr[2];
    const auto view = block_view(a, b, piece_ptr);
    auto* out = b.piece ? pieces.cell(i) : y + b.first_row;
    const auto how = b.piece ? Scale<S>{} : scale;
    for (std::int64_t r = 0; r < b.rows; ++r) out[r] = how(row_sum<S, V>(view, r, x), out[r]);
  });
  pieces.finish(y, scale);
}

#define X(S, V) template void spmv<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock::cpu
