#pragma once
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spgemm/spgemm_gpu_kernels.hpp"
#include "penstock/kernel/spgemm/spgemm_hash.hpp"

// The Group of spgemm_group.hpp on a GPU, which is a warp or a block, and launches with as much shared memory as a class of
// rows needs.
namespace penstock::gpu {

namespace group = spgemm_group;
static_assert(group::kTiny == kTinyProducts);

template <int threads>
struct DeviceGroup {
  static_assert(threads % 32 == 0);
  static constexpr bool kWarp = threads == 32;
  static constexpr int kBlock = kWarp ? kThreads : threads;  // threads of a block: warps share one
  static constexpr int kPerBlock = kBlock / threads;

  __device__ int rank() const { return kWarp ? int(threadIdx.x & 31) : int(threadIdx.x); }
  __device__ constexpr int size() const { return threads; }
  __device__ void sync() const {
    if constexpr (kWarp) __syncwarp();
    else __syncthreads();
  }
  /// The sum of `mine` over all lower ranks.
  __device__ int scan(int mine, int* total) const {
    const int lane = int(threadIdx.x & 31);
    int inclusive = mine;
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
      if (const int other = __shfl_up_sync(kAll, inclusive, d); lane >= d) inclusive += other;
    if constexpr (kWarp) {
      *total = __shfl_sync(kAll, inclusive, 31);
      __syncwarp();
      return inclusive - mine;
    } else {
      __shared__ int sums[threads / 32];
      const int warp = int(threadIdx.x / 32);
      if (lane == 31) sums[warp] = inclusive;
      __syncthreads();
      int before = 0, all = 0;
      for (int w = 0; w < threads / 32; ++w) {
        if (w < warp) before += sums[w];
        all += sums[w];
      }
      __syncthreads();
      *total = all;
      return before + inclusive - mine;
    }
  }
  __device__ int sum(int mine) const {
    int total = 0;
    scan(mine, &total);
    return total;
  }
  __device__ bool any(bool mine) const { return __any_sync(kAll, mine) != 0; }
  __device__ group::Word ballot(bool mine) const { return __ballot_sync(kAll, mine); }
  __device__ int shuffle(int v, int from) const { return __shfl_sync(kAll, v, from); }
  __device__ float shuffle(float v, int from) const { return __shfl_sync(kAll, v, from); }
  __device__ double shuffle(double v, int from) const { return __shfl_sync(kAll, v, from); }
  __device__ Offset shuffle(Offset v, int from) const { return __shfl_sync(kAll, (long long)(v), from); }
  __device__ std::uint32_t shuffle_xor(std::uint32_t v, int lanes) const {
    return __shfl_xor_sync(kAll, v, lanes);
  }
  __device__ std::uint64_t shuffle_xor(std::uint64_t v, int lanes) const {
    return __shfl_xor_sync(kAll, (unsigned long long)(v), lanes);
  }
  __device__ Index load(const Index* p) const { return *static_cast<const volatile Index*>(p); }
  __device__ int atomic_add(int* p, int n) const { return atomicAdd(p, n); }
  __device__ Index compare_swap(Index* p, Index expected, Index wanted) const {
    return atomicCAS(p, expected, wanted);
  }
  // It works on half a word, because atomic operations on 32 bits are native in shared memory.
  __device__ void set_bit(group::Word* p, int bit) const {
    atomicOr(reinterpret_cast<unsigned*>(p) + bit / 32, 1u << bit % 32);
  }
  template <class S, class T>
  __device__ void add(T* p, T v) const {
    static_assert(std::same_as<S, PlusTimes<T>>, "other sums need atomics of their own");
    atomicAdd(p, v);
  }
  __device__ int ones(group::Word w) const { return __popcll(w); }
  __device__ int lowest(group::Word w) const { return __ffsll(static_cast<long long>(w)) - 1; }
};

/// The rows of a class, as numbers within a chunk that begins at row `first` of A.
struct RowList {
  const Index* rows;
  std::int64_t count, first;
};

/// Where C is written: row r begins at indptr[r].
template <class P>
struct Target {
  const Offset* indptr;
  Index* indices;
  P* values;  // not used for a pattern
  __device__ Index* columns_of(std::int64_t row) const { return indices + indptr[row]; }
  __device__ P* values_of(std::int64_t row) const { return is_pattern<P> ? nullptr : values + indptr[row]; }
};

/// The number of this thread's group.
template <int threads>
__device__ std::int64_t number_of() {
  using G = DeviceGroup<threads>;
  return std::int64_t(blockIdx.x) * G::kPerBlock + (G::kWarp ? int(threadIdx.x / 32) : 0);
}
/// Its row, or -1 if there is none for it.
template <int threads>
__device__ std::int64_t row_of(const RowList& list) {
  const auto number = number_of<threads>();
  return number < list.count ? list.first + list.rows[number] : -1;
}

/// log2 of the slots of tables in the first `wide` rows of a class; in the others one less.
struct TableSize {
  int log_slots;
  std::int64_t wide;
};
inline TableSize table_size(const RowClass& c) { return {c.log_slots, c.wide}; }
template <int threads>
__device__ int log_slots_of(const TableSize& size) {
  return size.log_slots - (number_of<threads>() >= size.wide);
}

/// This group's part of the block's dynamic shared memory.
template <int threads>
__device__ std::byte* space_of(std::int64_t bytes) {
  extern __shared__ __align__(16) std::byte shared_bytes[];
  return shared_bytes + (DeviceGroup<threads>::kWarp ? std::int64_t(threadIdx.x / 32) * bytes : 0);
}

inline constexpr std::int64_t kSums = 256;  // bytes of shared memory for a group's sums, rounded up

/// Launches a group of threads for each row, with `bytes` of shared memory for each group.
template <int threads, class... Params, class... Args>
void launch_groups(void (*kernel)(Params...), std::int64_t rows, std::int64_t bytes, Stream stream,
                   Args... args) {
  using G = DeviceGroup<threads>;
  const auto shared = static_cast<std::size_t>(bytes * G::kPerBlock);
  const auto has = gpu_facts(stream.where).shared_block;
  const auto beside = std::int64_t(G::kWarp ? 0 : sizeof(group::LongRows)) + kSums;
  require(std::int64_t(shared) + beside <= has, [&] {
    return "SpGEMM on a GPU: a class of rows takes " + std::to_string(shared) +
           " bytes of shared memory, and a block has " + std::to_string(has);
  });
  // A block has 48 KB without asking for more, and kernels use some of it for their own variables.
  constexpr std::size_t kAlways = 40 << 10;
  if (shared > kAlways)
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((rows + G::kPerBlock - 1) / G::kPerBlock));
  config.blockDim = dim3(G::kBlock);
  config.dynamicSmemBytes = shared;
  config.stream = static_cast<cudaStream_t>(stream.handle);
  cuda::check(cudaLaunchKernelEx(&config, kernel, Params(args)...));
  ++device_calls().launches;
}

/// Calls f<threads>() for the one of these numbers that is `wanted`.
template <int... threads, class F>
void with_threads(int wanted, const F& f) {
  const bool found = ((wanted == threads ? (f.template operator()<threads>(), true) : false) || ...);
  require(found, [&] { return "SpGEMM on a GPU: no kernel for groups of " + std::to_string(wanted); });
}

}  // namespace penstock::gpu
