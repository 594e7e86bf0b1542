#include "penstock/kernel/spmm/spmm_gpu.hpp"

#include <algorithm>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"

namespace penstock {

std::int64_t spmm_gpu_scratch_bytes(std::int64_t rows, std::int64_t nnz, std::int64_t columns,
                                    std::int64_t entry_bytes, const GpuFacts& gpu) {
  const auto total = rows + nnz;
  // Upper bounds of what group_items() and unit_items() give. A block takes 1024 items, or fewer if that would leave the GPU
  // idle; then there are at most eight waves of blocks of 256 threads. A cell holds at most 128 columns. Pieces of rows
  // (spmm_tasks.hpp) need fewer: one has 2048 entries on average at least.
  const auto resident = std::int64_t(gpu.multiprocessors) * gpu.threads;
  const auto blocks = total / 1024 + std::min<std::int64_t>(total / 256, resident / 32) + 1;
  const auto units = total / 128 + std::min<std::int64_t>(total / 32, 2 * resident) + 2;
  return 2 * blocks * std::clamp<std::int64_t>((columns + 31) / 32 * 32, 32, 128) * entry_bytes + 8 * units;
}

template <Semiring S, class V>
void spmm_on(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
             Scale<S> scale, Stream stream, [[maybe_unused]] const SpmmGpuOptions& options) {
  if (!stream.where.is_gpu()) return spmm_tile<S, V>(a, x, y, scale);
  if constexpr (have_cuda) gpu::spmm<S, V>(a, x, y, scale, stream, options);
  else no_cuda("spmm on a GPU");
}

template <class V>
SpmmGpuPlan spmm_plan([[maybe_unused]] const CsrView<V>& a, [[maybe_unused]] SpmmPlanFor products,
                      Stream stream) {
  if (!stream.where.is_gpu()) return {};
  if constexpr (have_cuda) return gpu::plan_spmm(a, products, stream);
  else no_cuda("spmm on a GPU");
}

#define X(S, V)                                                                                     \
  template void spmm_on<S, V>(CsrView<V>, DenseView<const S::value_type>, DenseView<S::value_type>, \
                              Scale<S>, Stream, const SpmmGpuOptions&);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X
#define X(V) template SpmmGpuPlan spmm_plan(const CsrView<V>&, SpmmPlanFor, Stream);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
