#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/accumulate.hpp"

// A thread takes a number, which is added where the sum lies: over NVLink the GPU that has the memory does the addition, so
// nothing is sent back. The operation is atomic for the whole system, because GPUs add to the sums of other GPUs.
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
