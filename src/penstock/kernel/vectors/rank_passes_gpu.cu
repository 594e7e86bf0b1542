#include "penstock/kernel/vectors/rank_passes.hpp"
#include "penstock/kernel/vectors/sweep_gpu.cuh"

namespace penstock::gpu {

#define X(P, ...) \
  template void sweep<P<__VA_ARGS__>>(std::int64_t, const P<__VA_ARGS__>&, double*, unsigned*, Stream);
PENSTOCK_FOR_EACH_RANK_PASS(X, float)
PENSTOCK_FOR_EACH_RANK_PASS(X, double)
#undef X
template void sweep<RankSet<false>>(std::int64_t, const RankSet<false>&, double*, unsigned*, Stream);
template void sweep<RankSet<true>>(std::int64_t, const RankSet<true>&, double*, unsigned*, Stream);

}  // namespace penstock::gpu
