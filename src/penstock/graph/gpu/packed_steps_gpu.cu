#include "penstock/graph/gpu/packed_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {
namespace {

/// The Lanes of packed_encode.hpp: neighbouring lanes of a warp, which take a list. With eight, lists of 12 to 17 entries leave few idle.
struct EightLanes {
  static constexpr int kCount = 8;
  __device__ int number() const { return int(threadIdx.x) % kCount; }
  __device__ int sum(int mine) const {
#pragma unroll
    for (int d = kCount / 2; d > 0; d /= 2) mine += __shfl_xor_sync(mask(), mine, d);
    return mine;
  }
  __device__ int most(int mine) const {
#pragma unroll
    for (int d = kCount / 2; d > 0; d /= 2) mine = max(mine, __shfl_xor_sync(mask(), mine, d));
    return mine;
  }
  __device__ std::uint32_t either(std::uint32_t mine) const {
#pragma unroll
    for (int d = kCount / 2; d > 0; d /= 2) mine |= __shfl_xor_sync(mask(), mine, d);
    return mine;
  }
  __device__ int before(int mine) const {
    int sum = mine;
#pragma unroll
    for (int d = 1; d < kCount; d *= 2)
      if (const int other = __shfl_up_sync(mask(), sum, d, kCount); number() >= d) sum += other;
    return sum - mine;
  }
  __device__ void or_into(std::uint32_t* word, std::uint32_t bits) const { atomicOr(word, bits); }

 private:
  __device__ static unsigned mask() { return ((1u << kCount) - 1) << (threadIdx.x & 31) / kCount * kCount; }
};

template <class Step>
__global__ void __launch_bounds__(kThreads) part_kernel(std::int64_t n, const __grid_constant__ Step step) {
  const auto i = (std::int64_t(blockIdx.x) * kThreads + threadIdx.x) / EightLanes::kCount;
  if (i < n) step(i, EightLanes{});
}

}  // namespace

template <class Step>
void each_part(std::int64_t n, const Step& step, Stream stream) {
  const UseDevice use(stream.where);
  launch(part_kernel<Step>, blocks_for(n * EightLanes::kCount), stream, n, step);
}

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_PACKED_STEP(X)
#undef X
#define X(...) template void each_part<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_PACKED_PART(X)
#undef X

}  // namespace penstock::gpu
