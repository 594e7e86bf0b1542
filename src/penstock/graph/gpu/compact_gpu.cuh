#pragma once
#include "penstock/graph/gpu/compact.hpp"
#include "penstock/kernel/launch_gpu.cuh"

// The two passes of an ordered compaction, for kernels that do more than list the bits. First each block counts the bits of
// its words. After scan(), it visits them, and knows how many bits come before.
namespace penstock::gpu {

/// The sum of `mine` over the block. Every thread gets it.
__device__ inline Index sum_block(Index mine) {
  __shared__ Index sums[kThreads / 32];
  const Index warp = add_warp(mine);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = warp;
  __syncthreads();
  Index all = 0;
  for (int w = 0; w < kThreads / 32; ++w) all += sums[w];
  __syncthreads();
  return all;
}

/// starts[block] = the number of bits that are set in the words of this block. word(w) returns word w, and may also write data
/// that belongs to it.
template <class F>
__device__ void count_bits(std::int64_t words, Index* starts, F&& word) {
  const auto first = std::int64_t(blockIdx.x) * kBlockWords;
  Index mine = 0;
#pragma unroll
  for (int i = 0; i < kBlockWords / kThreads; ++i)
    if (const auto w = first + i * kThreads + threadIdx.x; w < words) mine += __popc(word(w));
  const Index all = sum_block(mine);
  if (threadIdx.x == 0) starts[blockIdx.x] = all;
}

inline constexpr int kWarpBits = 32 * 32;  // of the words that the lanes of a warp hold

/// Writes the numbers of the bits that are set in the lanes' words to local[0, count), in ascending order, and returns the count. All
/// lanes of a warp call it, with the same memory. So every lane has a bit to look at, however few there are.
__device__ inline Index gather_bits(Bits word, std::uint16_t* local) {
  const int lane = int(threadIdx.x & 31);
  int before = __popc(word);  // becomes the inclusive, then the exclusive sum over the lanes
#pragma unroll
  for (int d = 1; d < 32; d *= 2)
    if (const int other = __shfl_up_sync(kAll, before, d); lane >= d) before += other;
  const int total = __shfl_sync(kAll, before, 31);
  before -= __popc(word);
  constexpr int kFew = 128;
  if (total <= kFew) {
    for (Bits left = word; left != 0; left &= left - 1)
      local[before++] = std::uint16_t(lane * 32 + __ffs(int(left)) - 1);
  } else {  // lanes with full words would write to the same two banks of the memory
    for (unsigned left = __ballot_sync(kAll, word != 0); left != 0; left &= left - 1) {
      const int owner = __ffs(int(left)) - 1;
      const Bits that = __shfl_sync(kAll, word, owner);
      const int at = __shfl_sync(kAll, before, owner);
      if (that >> lane & 1) local[at + __popc(that & ((1u << lane) - 1))] = std::uint16_t(owner * 32 + lane);
    }
  }
  __syncwarp();
  return total;
}

/// The sum of `mine` over the warps of the block before this one; every lane of a warp brings the same number, and gets the sum.
/// *all = the sum over the block.
__device__ inline Index sum_before_warp(Index mine, Index* all) {
  __shared__ Index sums[kThreads / 32];
  const int warp = int(threadIdx.x / 32);
  if ((threadIdx.x & 31) == 0) sums[warp] = mine;
  __syncthreads();
  Index before = 0, sum = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += sums[w];
    sum += sums[w];
  }
  __syncthreads();
  *all = sum;
  return before;
}

/// *to += the sum of `mine` over the block, by one atomic operation: thousands of blocks add to the same number. Every thread calls it.
template <class T>
__device__ void add_block(T* to, T mine) {
  __shared__ T sums[kThreads / 32];
  for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(kAll, mine, d);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    T all = 0;
    for (int w = 0; w < kThreads / 32; ++w) all += sums[w];
    if (all != 0) atomicAdd(to, all);
  }
  __syncthreads();
}

/// Whole warps call visit(w, word, position), once for every word that is not 0. `position` is the number of bits before it.
template <class F>
__device__ void visit_bits(const Bits* bits, std::int64_t words, const Index* starts, F&& visit) {
  constexpr int kWarps = kThreads / 32;
  constexpr int kSteps = int(kBlockWords / kThreads);
  __shared__ Index sums[kWarps];
  const int lane = int(threadIdx.x & 31), warp = int(threadIdx.x / 32);
  const auto first = std::int64_t(blockIdx.x) * kBlockWords + warp * (kBlockWords / kWarps);
  Bits word[kSteps];
  Index mine = 0;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const auto w = first + i * 32 + lane;
    word[i] = w < words ? bits[w] : 0;
    mine += __popc(word[i]);
  }
  mine = add_warp(mine);
  if (lane == 0) sums[warp] = mine;
  __syncthreads();
  Index position = starts[blockIdx.x];
  for (int w = 0; w < warp; ++w) position += sums[w];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const Index count = __popc(word[i]);
    Index before = count;  // becomes the inclusive, then the exclusive sum over the lanes
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
      if (const Index other = __shfl_up_sync(kAll, before, d); lane >= d) before += other;
    const Index all = __shfl_sync(kAll, before, 31);
    before -= count;
    for (unsigned left = __ballot_sync(kAll, word[i] != 0); left != 0; left &= left - 1) {
      const int owner = __ffs(int(left)) - 1;
      const Bits that = __shfl_sync(kAll, word[i], owner);
      visit(first + i * 32 + owner, that, position + __shfl_sync(kAll, before, owner));
    }
    position += all;
  }
}

}  // namespace penstock::gpu
