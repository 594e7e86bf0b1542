#pragma once
#include <nv/target>

// The differences between the architectures that kernels are compiled for (7.5 and later). No other file asks for which one
// it is compiled. Code for an older architecture also runs on later GPUs, where the driver compiles it again; so other files
// must not ask the device for its architecture and assume that the code was compiled for it.
namespace penstock::gpu {

inline constexpr unsigned kAll = 0xffffffffu;

/// Threads that a multiprocessor holds at once.
constexpr int threads_of_multiprocessor() {
  NV_DISPATCH_TARGET(NV_IS_EXACTLY_SM_75, (return 1024;), NV_IS_EXACTLY_SM_86, (return 1536;),
                     NV_IS_EXACTLY_SM_87, (return 1536;), NV_IS_EXACTLY_SM_89, (return 1536;),
                     NV_PROVIDES_SM_110, (return 1536;), NV_ANY_TARGET, (return 2048;))
}

/// For __launch_bounds__: `wanted` blocks of `threads` threads, or as many as a multiprocessor can hold.
constexpr int most_blocks(int wanted, int threads) {
  const int fit = threads_of_multiprocessor() / threads;
  return wanted < fit ? wanted : fit;
}

// Sums over all lanes of a warp, which every lane gets. They are one instruction from 8.0 on.

__device__ inline unsigned add_warp(unsigned mine) {
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80, (return __reduce_add_sync(kAll, mine);),
                    (for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(kAll, mine, d); return mine;))
}
__device__ inline int add_warp(int mine) { return int(add_warp(unsigned(mine))); }

__device__ inline unsigned or_warp(unsigned mine) {
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80, (return __reduce_or_sync(kAll, mine);),
                    (for (int d = 16; d > 0; d /= 2) mine |= __shfl_xor_sync(kAll, mine, d); return mine;))
}

__device__ inline unsigned max_warp(unsigned mine) {
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80, (return __reduce_max_sync(kAll, mine);),
                    (for (int d = 16; d > 0; d /= 2) {
                      const unsigned other = __shfl_xor_sync(kAll, mine, d);
                      mine = other > mine ? other : mine;
                    } return mine;))
}

__device__ inline unsigned min_warp(unsigned mine) {
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80, (return __reduce_min_sync(kAll, mine);), (return ~max_warp(~mine);))
}

/// Waits until everything that was on the stream before this kernel is done and its writes are visible; until then the kernel
/// may touch no memory. Code for older GPUs does not wait, and is never launched early (waits_by_itself()).
__device__ inline void follow() { NV_IF_TARGET(NV_PROVIDES_SM_90, (cudaGridDependencySynchronize();)) }

}  // namespace penstock::gpu
