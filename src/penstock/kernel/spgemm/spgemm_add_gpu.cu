// Sums of sparse rows.
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spgemm/spgemm_add.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu_kernels.hpp"

namespace penstock::gpu {
namespace {

template <class S, class P>
__global__ void __launch_bounds__(kThreads)
    count_pieces(spgemm_add::Sum<P> sum, std::int64_t pieces, std::int64_t items, Offset* counts) {
  const auto p = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (p < pieces) counts[p] = spgemm_add::count_piece<S>(sum, p, items);
}

template <class S, class P>
__global__ void __launch_bounds__(kThreads)
    write_pieces(spgemm_add::Sum<P> sum, std::int64_t pieces, std::int64_t items, const Offset* starts,
                 Offset* indptr, Index* indices, P* values) {
  const auto p = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (p < pieces) spgemm_add::write_piece<S>(sum, p, items, starts[p], indptr, indices, values);
}

}  // namespace

template <Semiring S>
void count_sum(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y, Offset* counts,
               Stream stream) {
  const spgemm_add::Sum<ProductValue<S>> sum(x, y);
  if (sum.pieces() == 0) return;
  const UseDevice use(stream.where);
  launch(count_pieces<S, ProductValue<S>>, blocks_for(sum.pieces()), stream, sum, sum.pieces(), sum.items(),
         counts);
}

template <Semiring S>
void write_sum(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y, const Offset* starts,
               Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream) {
  const spgemm_add::Sum<ProductValue<S>> sum(x, y);
  if (sum.pieces() == 0) return;
  const UseDevice use(stream.where);
  launch(write_pieces<S, ProductValue<S>>, blocks_for(sum.pieces()), stream, sum, sum.pieces(), sum.items(),
         starts, indptr, indices, values);
}

#define X(S)                                                                                            \
  template void count_sum<S>(const CsrRows<ProductValue<S>>&, const CsrRows<ProductValue<S>>&, Offset*, \
                             Stream);                                                                   \
  template void write_sum<S>(const CsrRows<ProductValue<S>>&, const CsrRows<ProductValue<S>>&,          \
                             const Offset*, Offset*, Index*, ProductValue<S>*, Stream);
PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X

}  // namespace penstock::gpu
