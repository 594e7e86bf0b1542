#include "penstock/kernel/vectors/pipecg_passes.hpp"
#include "penstock/kernel/vectors/sweep_gpu.cuh"

namespace penstock::gpu {

#define X(P, T, M) template void sweep<P<T, M>>(std::int64_t, const P<T, M>&, double*, unsigned*, Stream);
PENSTOCK_FOR_EACH_PIPE_PASS(X, float, false)
PENSTOCK_FOR_EACH_PIPE_PASS(X, float, true)
PENSTOCK_FOR_EACH_PIPE_PASS(X, double, false)
PENSTOCK_FOR_EACH_PIPE_PASS(X, double, true)
#undef X

}  // namespace penstock::gpu
