#pragma once
#include "penstock/core/array.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/kernel/spmm/spmm_tasks.hpp"

namespace penstock {

/// What is computed once for a matrix so that its products with several columns on a GPU start without delay. Callers that
/// multiply again and again keep it beside the matrix. Any number of streams of its GPU may read it.
struct SpmmGpuPlan {
  int items = 0;                         // rows plus nonzeros of one group of threads
  Array<const std::int64_t> first_rows;  // the first row of every group, on the GPU
  SpmmTasks tasks;                       // may be empty
};

/// For how many products a plan is made: a list of the rows costs as much as one or two of them.
enum class SpmmPlanFor { one, many };

/// How one product reads X: `panel` columns at a time (0: 512 bytes of each row).
struct SpmmGpuOptions {
  const SpmmGpuPlan* plan = nullptr;  // null: the product finds the first rows itself, in scratch memory
  int panel = 0;
};

/// An upper bound of the device memory that one product takes for sums of rows that several blocks share.
std::int64_t spmm_gpu_scratch_bytes(std::int64_t rows, std::int64_t nnz, std::int64_t columns,
                                    std::int64_t entry_bytes, const GpuFacts& gpu);

namespace gpu {

/// Items of a group at most, and items of a unit at least. A larger group shares more reads of X among its rows; smaller ones
/// keep more of the GPU busy. spmm_gpu_scratch_bytes() counts on both.
inline constexpr int kMostItems = 128, kLeastItems = 32;
inline constexpr int kWaves = 4;      // of groups on the GPU, so that they balance
inline constexpr int kUnitLanes = 8;  // units are as small as groups of so many lanes need them

/// How many items (rows plus nonzeros) a unit has. The first row of each unit is known.
constexpr int unit_items(std::int64_t total, const GpuFacts& gpu) {
  const auto wanted = total / (std::int64_t(gpu.multiprocessors) * (gpu.threads / kUnitLanes) * kWaves);
  return wanted >= kMostItems ? kMostItems : wanted >= kMostItems / 2 ? kMostItems / 2 : kLeastItems;
}

/// How many items a group has: few enough that the groups make four waves on the GPU, and no more than let neighbouring groups
/// find their rows of X in the cache.
constexpr int group_items(std::int64_t total, int lanes, int unit, const GpuFacts& gpu) {
  const auto wanted = total / (std::int64_t(gpu.multiprocessors) * (gpu.threads / lanes) * kWaves);
  int items = unit;
  while (items < kMostItems && 2 * items <= wanted) items *= 2;
  return items;
}

/// Y = alpha A X + beta Y on `stream.where`; A is read once for each panel of columns. X has a.cols rows and Y has a.rows.
/// Both are row-major with any row step, and the GPU can read and write them. a.count must be stated. The bits are the same in
/// every run with the same kind of plan.
template <Semiring S, class V>
void spmm(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
          Scale<S> scale, Stream stream, const SpmmGpuOptions& options = {});

/// Makes the plan of a matrix, which the GPU must be able to read. Waits for the stream.
template <class V>
SpmmGpuPlan plan_spmm(const CsrView<V>& a, SpmmPlanFor products, Stream stream);

}  // namespace gpu

/// The product on any stream; on the CPU it is spmm_tile. Throws Error{not_compiled} for a GPU in a build without CUDA.
template <Semiring S, class V>
void spmm_on(CsrView<V> a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
             Scale<S> scale, Stream stream, const SpmmGpuOptions& options = {});

/// gpu::plan_spmm, and an empty plan for the CPU.
template <class V>
SpmmGpuPlan spmm_plan(const CsrView<V>& a, SpmmPlanFor products, Stream stream);

}  // namespace penstock
