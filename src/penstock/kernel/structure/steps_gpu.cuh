#pragma once
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/structure/steps.hpp"

namespace penstock::gpu {

template <class Step>
__global__ void __launch_bounds__(kThreads) each_kernel(std::int64_t n, Step step) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) step(i);
}

template <class Step>
void each(std::int64_t n, const Step& step, Stream stream) {
  const UseDevice use(stream.where);
  launch(each_kernel<Step>, blocks_for(n), stream, n, step);
}

/// Lanes of a warp have ascending i, so that the first one with the property speaks for its warp.
template <class Test>
__global__ void __launch_bounds__(kThreads)
    find_kernel(std::int64_t n, Test test, unsigned long long* __restrict__ found) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const bool holds = i < n && test(i);
  const auto lanes = __ballot_sync(kAll, holds);
  if (holds && int(threadIdx.x % 32) == __ffs(int(lanes)) - 1)
    atomicMin(found, static_cast<unsigned long long>(i));
}

template <class Test>
std::int64_t find_first(std::int64_t n, const Test& test, Stream stream) {
  const UseDevice use(stream.where);
  const auto memory = allocate_scratch(sizeof(std::int64_t), stream);
  auto* const found = static_cast<std::int64_t*>(memory.get());
  fill_async(found, 0xff, sizeof *found, stream);  // larger than any i, as an unsigned number
  launch(find_kernel<Test>, blocks_for(n), stream, n, test, reinterpret_cast<unsigned long long*>(found));
  const auto least = fetch(found, stream);
  return least < 0 ? kNone : least;
}

}  // namespace penstock::gpu
