#pragma once
#include "penstock/core/array.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

namespace penstock {

/// What a matrix needs once, so that products with several columns on a GPU start at once: whoever multiplies again and
/// again keeps it beside the matrix. Reading it is safe from any number of streams of its GPU.
struct SpmmGpuPlan {
  int items = 0;                         // rows and nonzeros of one group of threads
  Array<const std::int64_t> first_rows;  // of every group, on the GPU
};

/// How one product walks X: `panel` columns at a time (0: 512 bytes of each row).
struct SpmmGpuOptions {
  const SpmmGpuPlan* plan = nullptr;  // null: the rows are found again, in scratch memory
  int panel = 0;
};

/// Bytes of device memory that one product takes at most for sums of rows that several blocks share.
std::int64_t spmm_gpu_scratch_bytes(std::int64_t rows, std::int64_t nnz, std::int64_t columns,
                                    std::int64_t entry_bytes, const GpuFacts& gpu);

namespace gpu {

/// Items (rows and nonzeros) of a unit, in which rows are found: as small as groups of eight lanes want them.
constexpr int unit_items(std::int64_t total, const GpuFacts& gpu) {
  const auto wanted = total / (std::int64_t(gpu.multiprocessors) * (gpu.threads / 8) * 4);
  return wanted >= 128 ? 128 : wanted >= 64 ? 64 : 32;
}

/// Items of a group: enough groups for four waves of the machine, and no more than keep neighbours in the cache together.
constexpr int group_items(std::int64_t total, int lanes, int unit, const GpuFacts& gpu) {
  const auto wanted = total / (std::int64_t(gpu.multiprocessors) * (gpu.threads / lanes) * 4);
  int items = unit;
  while (items < 128 && 2 * items <= wanted) items *= 2;
  return items;
}

/// Y = alpha A X + beta Y on `stream.where`, A read once a panel of columns. X has a.cols rows, Y a.rows, both row-major with
/// any row step, readable and writable by the GPU; a.count must be stated. Same bits in every run.
template <Semiring S, class V>
void spmm(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale, Stream stream, const SpmmGpuOptions& options = {});

/// Cuts the rows; waits for the stream. The matrix must be readable by the GPU.
template <class V>
SpmmGpuPlan plan_spmm(const CsrView<V>& a, Stream stream);

}  // namespace gpu

/// On any stream: the CPU's is spmm_tile. Throws Error{not_compiled} for a GPU in a build without CUDA.
template <Semiring S, class V>
void spmm_on(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
             Scale<S> scale, Stream stream, const SpmmGpuOptions& options = {});

/// gpu::plan_spmm, and an empty plan for the CPU.
template <class V>
SpmmGpuPlan spmm_plan(const CsrView<V>& a, Stream stream);

}  // namespace penstock
