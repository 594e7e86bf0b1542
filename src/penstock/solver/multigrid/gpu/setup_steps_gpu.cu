#include "penstock/kernel/structure/steps_gpu.cuh"
#include "penstock/solver/multigrid/gpu/aggregate_steps.hpp"
#include "penstock/solver/multigrid/gpu/prolongate_steps.hpp"
#include "penstock/solver/multigrid/gpu/setup_steps.hpp"
#include "penstock/solver/multigrid/gpu/staged_rows.hpp"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_SETUP_STEP(X, float)
PENSTOCK_FOR_EACH_SETUP_STEP(X, double)
PENSTOCK_FOR_EACH_AGGREGATE_STEP(X)
PENSTOCK_FOR_EACH_PROLONGATE_STEP(X)
PENSTOCK_FOR_EACH_PROLONGATE_STEP_OF(X, float)
PENSTOCK_FOR_EACH_PROLONGATE_STEP_OF(X, double)
X(FromRow<SumRow<float, double>>)
X(LargestOfChunk)
X(NarrowValues)
#undef X

#define X(...) template std::int64_t find_first<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
X(NotPositive<float>)
X(NotPositive<double>)
X(NotFinite)
X(Differs<Offset>)
X(Differs<Index>)
X(IsOpen)
#undef X

}  // namespace penstock::gpu
