#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/accumulate.hpp"

// A thread a number, added where it lies: over NVLink the memory's own GPU does the sum, so nothing comes back. Of the
// whole system, because GPUs add to one another's sums.
namespace penstock::gpu {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads)
    accumulate_kernel(T* sums, const T* __restrict__ values, std::int64_t count) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) atomicAdd_system(sums + i, read_once(values + i));
}

}  // namespace

template <class T>
void accumulate(T* sums, const T* values, std::int64_t count, Stream stream) {
  const UseDevice use(stream.where);
  launch(accumulate_kernel<T>, blocks_for(count), stream, sums, values, count);
}

template void accumulate<float>(float*, const float*, std::int64_t, Stream);
template void accumulate<double>(double*, const double*, std::int64_t, Stream);

}  // namespace penstock::gpu
