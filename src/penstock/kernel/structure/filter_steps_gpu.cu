#include "penstock/kernel/structure/filter_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_FILTER_STEP(X)
PENSTOCK_FOR_EACH_FILTER_VALUE_STEP(X, float)
PENSTOCK_FOR_EACH_FILTER_VALUE_STEP(X, double)
PENSTOCK_FOR_EACH_FILTER_VALUE_STEP(X, PlainComplex<float>)
PENSTOCK_FOR_EACH_FILTER_VALUE_STEP(X, PlainComplex<double>)
#undef X

}  // namespace penstock::gpu
