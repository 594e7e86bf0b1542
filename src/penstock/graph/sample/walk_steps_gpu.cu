// Compiled without fused products and sums, so that darts and sums of weights have the CPU's bits.
#include "penstock/graph/sample/walk_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_WALK(X)
X(graph::NarrowIds<std::int32_t>)
X(graph::NarrowIds<std::int64_t>)
#undef X

}  // namespace penstock::gpu
