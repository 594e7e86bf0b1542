// Compiled without fused products and sums, so that darts and sums of weights have the CPU's bits.
#include "penstock/graph/sample/atomics_gpu.cuh"
#include "penstock/graph/sample/walk_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
X(graph::FillFilter<graph::DeviceAtomics>)
X(graph::NarrowIds<std::int32_t>)
X(graph::NarrowIds<std::int64_t>)
#undef X

#define X(V, weighted)                                                    \
  template void each<graph::WalkAlone<V, weighted, false>>(               \
      std::int64_t, const graph::WalkAlone<V, weighted, false>&, Stream); \
  template void each<graph::WalkAlone<V, weighted, true>>(                \
      std::int64_t, const graph::WalkAlone<V, weighted, true>&, Stream);
PENSTOCK_FOR_EACH_WALK(X)
#undef X

}  // namespace penstock::gpu
