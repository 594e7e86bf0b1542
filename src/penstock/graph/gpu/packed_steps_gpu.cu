#include "penstock/graph/gpu/packed_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_PACKED_STEP(X)
#undef X

}  // namespace penstock::gpu
