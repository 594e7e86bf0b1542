#include "penstock/kernel/vectors/dist_cg_passes.hpp"
#include "penstock/kernel/vectors/sweep_gpu.cuh"

namespace penstock::gpu {

#define X(P) template void sweep<P>(std::int64_t, const P&, double*, unsigned*, Stream);
PENSTOCK_FOR_EACH_DIST_CG_PASS(X, float)
PENSTOCK_FOR_EACH_DIST_CG_PASS(X, double)
#undef X
#define X(P, T, D) template void sweep<P<T, D>>(std::int64_t, const P<T, D>&, double*, unsigned*, Stream);
PENSTOCK_FOR_EACH_DIST_CG_PASS_OF_M(X, float, false)
PENSTOCK_FOR_EACH_DIST_CG_PASS_OF_M(X, float, true)
PENSTOCK_FOR_EACH_DIST_CG_PASS_OF_M(X, double, false)
PENSTOCK_FOR_EACH_DIST_CG_PASS_OF_M(X, double, true)
#undef X

}  // namespace penstock::gpu
