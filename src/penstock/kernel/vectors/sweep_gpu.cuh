#pragma once
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/sweep.hpp"

// One pass over vectors on a GPU. Reads and writes have 16 bytes, the grid walks over the vectors, and the block that arrives
// last adds up the parts of all blocks in their order. Sums need no atomics.
namespace penstock::gpu {

template <class T, int kLanes>
struct alignas(kLanes * sizeof(T)) Pack {
  T lane[kLanes];
};

/// `kLanes` entries from `i` on.
template <int kLanes, class P, class Scalars>
__device__ void sweep_entries(const P& pass, const Scalars& scalars, std::int64_t i, double* sums) {
  using In = Pack<typename P::In, kLanes>;
  using Out = Pack<typename P::Out, kLanes>;
  constexpr int kOut = P::kOut > 0 ? P::kOut : 1;
  In in[P::kIn];
  Out out[kOut];
#pragma unroll
  for (int a = 0; a < P::kIn; ++a) in[a] = *reinterpret_cast<const In*>(pass.in[a] + i);
#pragma unroll
  for (int l = 0; l < kLanes; ++l) {
    typename P::In v[P::kIn];
    typename P::Out o[kOut];
#pragma unroll
    for (int a = 0; a < P::kIn; ++a) v[a] = in[a].lane[l];
    pass(scalars, v, o, sums);
#pragma unroll
    for (int a = 0; a < P::kOut; ++a) out[a].lane[l] = o[a];
  }
#pragma unroll
  for (int a = 0; a < P::kOut; ++a) *reinterpret_cast<Out*>(pass.out[a] + i) = out[a];
}

/// The sum over a block, in thread 0. `warps` has a cell for each warp.
inline __device__ double sum_block(double v, double* warps) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(kAll, v, d);
  __syncthreads();  // the cells may still be read from the sum before
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < kThreads / 32; ++w) v += warps[w];
  return v;
}

/// Blocks of a multiprocessor: eight if 32 registers are enough, and four if a pass has many vectors or several sums; it then
/// needs more registers, and has as many bytes under way.
template <class P>
inline constexpr int kSweepEach = P::kIn + P::kOut < 4 && P::kIn + P::kOut + P::kSums < 5 ? 8 : 4;
/// The blocks of a grid: at most kSweepBlocks on any GPU, because sums depend on it. No block waits for another, so they need
/// not reside at once; on a small GPU they come in waves.
template <class P>
inline constexpr int kBlocksOf = kSweepEach<P>*(kSweepBlocks / 8);

template <class P>
__global__ void __launch_bounds__(kThreads, most_blocks(kSweepEach<P>, kThreads))
    sweep_kernel(std::int64_t n, P pass, double* parts, unsigned* arrived) {
  follow();  // passes are short: a solver's iteration has three
  // Only finish() writes the data that wanted() and scalars() read, after every block has arrived.
  if (!pass.wanted()) return;
  const auto scalars = pass.scalars();
  constexpr int kLanes = 16 / int(sizeof(typename P::In) > sizeof(typename P::Out) ? sizeof(typename P::In)
                                                                                   : sizeof(typename P::Out));
  double sums[P::kSums > 0 ? P::kSums : 1] = {};
  const auto packs = n / kLanes;
  const auto step = std::int64_t(gridDim.x) * kThreads;
  for (auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < packs; i += step)
    sweep_entries<kLanes>(pass, scalars, i * kLanes, sums);
  if (blockIdx.x == 0)
    if (const auto i = packs * kLanes + threadIdx.x; i < n) sweep_entries<1>(pass, scalars, i, sums);

  if constexpr (P::kSums > 0) {
    __shared__ double warps[kThreads / 32];
    __shared__ bool last;
#pragma unroll
    for (int s = 0; s < P::kSums; ++s) {
      const double sum = sum_block(sums[s], warps);
      if (threadIdx.x == 0) parts[s * kSweepBlocks + blockIdx.x] = sum;
    }
    if (threadIdx.x == 0) {
      __threadfence();  // the parts must be visible before the arrival
      last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    double total[P::kSums];
#pragma unroll
    for (int s = 0; s < P::kSums; ++s) {
      double mine = 0;
      for (unsigned b = threadIdx.x; b < gridDim.x; b += kThreads)
        mine += __ldcg(parts + s * kSweepBlocks + b);
      total[s] = sum_block(mine, warps);
    }
    if (threadIdx.x == 0) {
      *arrived = 0;
      pass.finish(total);
    }
  }
}

template <class P>
void sweep(std::int64_t n, const P& pass, double* parts, unsigned* arrived, Stream stream) {
  const UseDevice use(stream.where);
  constexpr std::int64_t kLanes =
      16 / std::int64_t(std::max(sizeof(typename P::In), sizeof(typename P::Out)));
  const auto blocks = std::clamp<std::int64_t>(blocks_for((n + kLanes - 1) / kLanes), 1, kBlocksOf<P>);
  launch_following(sweep_kernel<P>, blocks, stream, n, pass, parts, arrived);
}

}  // namespace penstock::gpu
