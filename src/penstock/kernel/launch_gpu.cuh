#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "penstock/core/check_cuda.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/kernel/architecture_gpu.cuh"

// What every GPU kernel file needs: launches, reads that pass by the caches, sums across a warp.
namespace penstock::gpu {

inline constexpr int kThreads = 256;

/// A read of the matrix: used once, so it must not push x out of the caches (0.84 of the time where
/// rows of 21 scattered columns were multiplied).
template <class T>
__device__ T read_once(const T* p) {
  if constexpr (std::is_arithmetic_v<T>) return __ldcs(p);
  else return *p;
}

/// Shuffles any trivially copyable type.
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

/// The sum over groups of `lanes` (a power of two) in each group's first lane; every lane of the warp must call.
template <class S, class T>
__device__ T sum_lanes(T sum, int lanes) {
  for (int d = lanes / 2; d > 0; d /= 2) sum = S::add(sum, shuffle_down(sum, d, lanes));
  return sum;
}

/// Blocks of kThreads threads on a stream of the current GPU, `blocks` times `layers` (at most 65535) of them.
template <class... Params, class... Args>
void launch_layers(void (*kernel)(Params...), std::int64_t blocks, unsigned layers, Stream stream,
                   Args... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks), layers);
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream.handle);
  cuda::check(cudaLaunchKernelEx(&config, kernel, Params(args)...));
}

template <class... Params, class... Args>
void launch(void (*kernel)(Params...), std::int64_t blocks, Stream stream, Args... args) {
  launch_layers(kernel, blocks, 1, stream, args...);
}

/// As launch(), of a kernel whose blocks meet at barriers of the whole grid: at most as many as reside at once, on a stream of
/// the current GPU.
template <class... Params, class... Args>
void launch_meeting(void (*kernel)(Params...), Stream stream, Args... args) {
  const auto& gpu = gpu_facts(stream.where);
  const auto most = cuda::resident_blocks(reinterpret_cast<const void*>(kernel), kThreads, stream.where.gpu);
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;  // refused, where a block would have to wait for one that cannot start
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min(most, blocks_that_meet(gpu))));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream.handle);
  config.attrs = &together, config.numAttrs = 1;
  cuda::check(cudaLaunchKernelEx(&config, kernel, Params(args)...));
}

/// As launch(), of a kernel that begins with follow(): its blocks come while the last ones of the kernel before it leave,
/// which saves 1 to 2 us of a product that takes 10, where GPU and code can (9.0 and later).
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
}

/// Blocks of kThreads threads that the stream's GPU holds at once, registers permitting: a grid that walks its work.
inline std::int64_t full_grid(Stream stream) { return blocks_at_once(gpu_facts(stream.where), kThreads); }

inline constexpr std::int64_t blocks_for(std::int64_t threads) { return (threads + kThreads - 1) / kThreads; }

}  // namespace penstock::gpu
