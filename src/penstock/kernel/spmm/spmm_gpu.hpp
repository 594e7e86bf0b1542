#pragma once
#include "penstock/core/array.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

namespace penstock {

/// What is computed once for a matrix so that its products with several columns on a GPU start without delay. Callers that
/// multiply again and again keep it beside the matrix. Any number of streams of its GPU may read it.
struct SpmmGpuPlan {
  int items = 0;                         // rows plus nonzeros of one group of threads
  Array<const std::int64_t> first_rows;  // the first row of every group, on the GPU
};

/// How one product reads X: `panel` columns at a time (0: 512 bytes of each row).
struct SpmmGpuOptions {
  const SpmmGpuPlan* plan = nullptr;  // null: the product finds the first rows itself, in scratch memory
  int panel = 0;
};

/// An upper bound of the device memory that one product takes for sums of rows that several blocks share.
std::int64_t spmm_gpu_scratch_bytes(std::int64_t rows, std::int64_t nnz, std::int64_t columns,
                                    std::int64_t entry_bytes, const GpuFacts& gpu);

namespace gpu {

/// How many items (rows plus nonzeros) a unit has. The first row of each unit is known; units are as small as groups of eight
/// lanes need them.
constexpr int unit_items(std::int64_t total, const GpuFacts& gpu) {
  const auto wanted = total / (std::int64_t(gpu.multiprocessors) * (gpu.threads / 8) * 4);
  return wanted >= 128 ? 128 : wanted >= 64 ? 64 : 32;
}

/// How many items a group has: few enough that the groups make four waves on the GPU, and no more than let neighbouring groups
/// find their rows of X in the cache.
constexpr int group_items(std::int64_t total, int lanes, int unit, const GpuFacts& gpu) {
  const auto wanted = total / (std::int64_t(gpu.multiprocessors) * (gpu.threads / lanes) * 4);
  int items = unit;
  while (items < 128 && 2 * items <= wanted) items *= 2;
  return items;
}

/// Y = alpha A X + beta Y on `stream.where`; A is read once for each panel of columns. X has a.cols rows and Y has a.rows.
/// Both are row-major with any row step, and the GPU can read and write them. a.count must be stated. The bits are the same in
/// every run.
template <Semiring S, class V>
void spmm(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale, Stream stream, const SpmmGpuOptions& options = {});

/// Makes the plan of a matrix, which the GPU must be able to read. Waits for the stream.
template <class V>
SpmmGpuPlan plan_spmm(const CsrView<V>& a, Stream stream);

}  // namespace gpu

/// The product on any stream; on the CPU it is spmm_tile. Throws Error{not_compiled} for a GPU in a build without CUDA.
template <Semiring S, class V>
void spmm_on(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
             Scale<S> scale, Stream stream, const SpmmGpuOptions& options = {});

/// gpu::plan_spmm, and an empty plan for the CPU.
template <class V>
SpmmGpuPlan spmm_plan(const CsrView<V>& a, Stream stream);

}  // namespace penstock
