#include "penstock/kernel/vectors/bicgstab_passes.hpp"
#include "penstock/kernel/vectors/sweep_gpu.cuh"

namespace penstock::gpu {

#define X(P, ...) \
  template void sweep<P<__VA_ARGS__>>(std::int64_t, const P<__VA_ARGS__>&, double*, unsigned*, Stream);
PENSTOCK_FOR_EACH_STAB_PASS(X, float)
PENSTOCK_FOR_EACH_STAB_PASS(X, double)
#undef X

}  // namespace penstock::gpu
