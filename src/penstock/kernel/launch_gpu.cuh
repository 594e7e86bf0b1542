#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "penstock/core/check_cuda.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/device_calls.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/kernel/architecture_gpu.cuh"

// Helpers of all GPU kernel files: launches, reads that bypass the caches, sums across a warp.
namespace penstock::gpu {

inline constexpr int kThreads = 256;

/// Reads an entry of the matrix. It is used once, so it must not push x out of the caches (rows of 21 scattered columns then
/// took 0.84 of the time).
template <class T>
__device__ T read_once(const T* p) {
  if constexpr (std::is_arithmetic_v<T>) return __ldcs(p);
  else return *p;
}

/// __shfl_down_sync for any trivially copyable type.
template <class T>
__device__ T shuffle_down(T v, int distance, int width) {
  if constexpr (sizeof(T) < sizeof(unsigned)) {
    return T(__shfl_down_sync(kAll, unsigned(v), distance, width));
  } else {
    constexpr int kWords = sizeof(T) / sizeof(unsigned);
    unsigned words[kWords];
    memcpy(words, &v, sizeof(T));
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = __shfl_down_sync(kAll, words[i], distance, width);
    memcpy(&v, words, sizeof(T));
    return v;
  }
}

/// The sum over each group of `lanes` lanes (a power of two), which the group's first lane gets. All lanes of the warp must
/// call it.
template <class S, class T>
__device__ T sum_lanes(T sum, int lanes) {
  for (int d = lanes / 2; d > 0; d /= 2) sum = S::add(sum, shuffle_down(sum, d, lanes));
  return sum;
}

/// Launches `blocks` times `layers` (at most 65535) blocks of kThreads threads on a stream of the current GPU.
template <class... Params, class... Args>
void launch_layers(void (*kernel)(Params...), std::int64_t blocks, unsigned layers, Stream stream,
                   Args... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks), layers);
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream.handle);
  cuda::check(cudaLaunchKernelEx(&config, kernel, Params(args)...));
  ++device_calls().launches;
}

template <class... Params, class... Args>
void launch(void (*kernel)(Params...), std::int64_t blocks, Stream stream, Args... args) {
  launch_layers(kernel, blocks, 1, stream, args...);
}

/// Launches a kernel whose blocks meet at barriers of the whole grid, on a stream of the current GPU, with at most as many
/// blocks as reside at once.
template <class... Params, class... Args>
void launch_meeting(void (*kernel)(Params...), Stream stream, Args... args) {
  const auto& gpu = gpu_facts(stream.where);
  const auto most = cuda::resident_blocks(reinterpret_cast<const void*>(kernel), kThreads, stream.where.gpu);
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;  // CUDA refuses the launch if a block would wait for one that cannot start
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min(most, blocks_that_meet(gpu))));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream.handle);
  config.attrs = &together, config.numAttrs = 1;
  cuda::check(cudaLaunchKernelEx(&config, kernel, Params(args)...));
  ++device_calls().launches;
}

/// Launches a kernel that begins with follow(). Where GPU and code can do it (9.0 and later), its blocks start while the last
/// blocks of the kernel before it still run, which saves 1 to 2 us of a product that takes 10.
template <class... Params, class... Args>
void launch_following(void (*kernel)(Params...), std::int64_t blocks, Stream stream, Args... args) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream.handle);
  const bool waits = cuda::waits_by_itself(reinterpret_cast<const void*>(kernel), stream.where.gpu);
  config.attrs = &early, config.numAttrs = waits ? 1 : 0;
  cuda::check(cudaLaunchKernelEx(&config, kernel, Params(args)...));
  ++device_calls().launches;
}

/// How many blocks of kThreads threads the stream's GPU holds at once, if registers allow it: for grids whose blocks take one
/// piece of work after the other.
inline std::int64_t full_grid(Stream stream) { return blocks_at_once(gpu_facts(stream.where), kThreads); }

inline constexpr std::int64_t blocks_for(std::int64_t threads) { return (threads + kThreads - 1) / kThreads; }

}  // namespace penstock::gpu
