#include "penstock/graph/sample/atomics_gpu.cuh"
#include "penstock/graph/sample/gather_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_ROW_WORD(X, std::int32_t)
PENSTOCK_FOR_EACH_ROW_WORD(X, std::int64_t)
X(graph::NumberRows<std::int32_t>)
X(graph::NumberRows<std::int64_t>)
X(graph::CountHotRows<std::int32_t>::Step<graph::DeviceAtomics>)
X(graph::CountHotRows<std::int64_t>::Step<graph::DeviceAtomics>)
X(graph::PlaceSlots)
#undef X

#define X(Id) \
  template std::int64_t find_first<graph::IsOutside<Id>>(std::int64_t, const graph::IsOutside<Id>&, Stream);
X(std::int32_t)
X(std::int64_t)
#undef X

}  // namespace penstock::gpu
