#include "penstock/kernel/vectors/amg_passes.hpp"
#include "penstock/kernel/vectors/sweep_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void sweep<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, double*, unsigned*, Stream);
PENSTOCK_FOR_EACH_AMG_PASS(X, float)
PENSTOCK_FOR_EACH_AMG_PASS(X, double)
PENSTOCK_FOR_EACH_NARROW_PASS(X)
#undef X

}  // namespace penstock::gpu
