#include "penstock/kernel/structure/entry_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_INDEX_STEP(X)
PENSTOCK_FOR_EACH_VALUE_STEP(X, float)
PENSTOCK_FOR_EACH_VALUE_STEP(X, double)
PENSTOCK_FOR_EACH_VALUE_STEP(X, PlainComplex<float>)
PENSTOCK_FOR_EACH_VALUE_STEP(X, PlainComplex<double>)
X(TakeDiagonal<One>)
#undef X

#define X(From, To)                                          \
  template void each<ConvertValues<Plain<From>, Plain<To>>>( \
      std::int64_t, const ConvertValues<Plain<From>, Plain<To>>&, Stream);
PENSTOCK_FOR_EACH_CONVERSION(X)
#undef X

#define X(...) template std::int64_t find_first<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_TEST(X)
#undef X

}  // namespace penstock::gpu
