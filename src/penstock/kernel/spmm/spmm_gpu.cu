// SpMM on a GPU: the plan of a matrix, and the kernels for float32 (spmm_gpu.cuh).
#include "penstock/kernel/spmm/spmm_gpu.cuh"

namespace penstock::gpu {

template <class V>
SpmmGpuPlan plan_spmm(const CsrView<V>& a, SpmmPlanFor products, Stream stream) {
  SpmmGpuPlan plan;
  const UseDevice use(stream.where);
  const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
  const auto total = a.rows + a.count;
  plan.items = unit_items(total, gpu_facts(stream.where));
  const auto units = (total + plan.items - 1) / plan.items;
  const auto first_rows = allocate<std::int64_t>(units + 1, here);
  plan.first_rows = first_rows;
  launch(find_tiles, blocks_for(units + 1), stream, a.indptr, a.rows, units, plan.items, first_rows.data);
  if constexpr (is_pattern<V> || std::is_floating_point_v<V>)  // only their products have kernels for tasks
    if (products == SpmmPlanFor::many) plan.tasks = spmm_tasks(a.indptr, a.rows, stream);
  synchronize(stream);
  return plan;
}

#define X(V) template SpmmGpuPlan plan_spmm(const CsrView<V>&, SpmmPlanFor, Stream);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

PENSTOCK_SPMM(PlusTimes<float>, One)
PENSTOCK_SPMM(PlusTimes<float>, float)

}  // namespace penstock::gpu
