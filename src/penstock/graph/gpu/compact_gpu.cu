// Makes lists of bitmaps, in the order of the vertices, and prefix sums. A scan of few numbers (such as one for every 65536
// vertices) is done by one block, other scans by way of the sums of blocks.
#include "penstock/graph/gpu/compact_gpu.cuh"

#include "penstock/core/array.hpp"

namespace penstock::gpu {
namespace {

constexpr int kScanItems = 8;  // numbers that a thread takes
constexpr std::int64_t kScanBlock = kThreads * kScanItems;

__global__ void __launch_bounds__(kThreads) count_words(const Bits* bits, std::int64_t words, Index* starts) {
  count_bits(words, starts, [=](std::int64_t w) { return bits[w]; });
}

__global__ void __launch_bounds__(kThreads)
    write_words(const Bits* bits, std::int64_t words, const Index* starts, Index* list) {
  static_assert(kBlockWords == kThreads);
  __shared__ std::uint16_t local[kThreads / 32][kWarpBits];
  const int warp = int(threadIdx.x / 32);
  const auto w = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const Index count = gather_bits(w < words ? bits[w] : 0, local[warp]);
  Index all;
  const Index position = starts[blockIdx.x] + sum_before_warp(count, &all);
  const auto first = Index((w - (threadIdx.x & 31)) * 32);
  for (auto t = Index(threadIdx.x & 31); t < count; t += 32) list[position + t] = first + local[warp][t];
}

/// The sum of `mine` over all lower threads of the block; *all = the sum over the block.
template <class T>
__device__ T scan_threads(T mine, T* all) {
  __shared__ T sums[kThreads / 32];
  const int lane = int(threadIdx.x & 31), warp = int(threadIdx.x / 32);
  T inclusive = mine;
#pragma unroll
  for (int d = 1; d < 32; d *= 2)
    if (const T other = __shfl_up_sync(kAll, inclusive, d); lane >= d) inclusive += other;
  if (lane == 31) sums[warp] = inclusive;
  __syncthreads();
  T before = 0, total = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += sums[w];
    total += sums[w];
  }
  __syncthreads();
  *all = total;
  return before + inclusive - mine;
}

/// Block b scans numbers[b * kScanBlock ...), beginning with starts[b]. Without `starts` one block scans all numbers.
template <class T>
__global__ void __launch_bounds__(kThreads)
    scan_numbers(T* numbers, std::int64_t n, const T* starts, T* total) {
  T carry = starts ? starts[blockIdx.x] : T(0);
  const auto begin = starts ? std::int64_t(blockIdx.x) * kScanBlock : 0;
  const auto end = starts ? min(n, begin + kScanBlock) : n;
  for (auto base = begin; base < end; base += kScanBlock) {
    T item[kScanItems];
    T mine = 0;
    const auto at = base + threadIdx.x * kScanItems;
#pragma unroll
    for (int i = 0; i < kScanItems; ++i) {
      item[i] = at + i < end ? numbers[at + i] : T(0);
      mine += item[i];
    }
    T all;
    T before = carry + scan_threads(mine, &all);
#pragma unroll
    for (int i = 0; i < kScanItems; ++i) {
      if (at + i < end) numbers[at + i] = before;
      before += item[i];
    }
    carry += all;
  }
  if (!starts && total && threadIdx.x == 0) *total = carry;
}

template <class T>
__global__ void __launch_bounds__(kThreads) sum_numbers(const T* numbers, std::int64_t n, T* sums) {
  const auto begin = std::int64_t(blockIdx.x) * kScanBlock;
  T mine = 0;
  for (int i = 0; i < kScanItems; ++i)
    if (const auto at = begin + i * kThreads + threadIdx.x; at < n) mine += numbers[at];
  T all;
  scan_threads(mine, &all);
  if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

template <class T>
void scan_any(T* numbers, std::int64_t n, T* total, Stream stream) {
  constexpr std::int64_t kFew = 64 * kScanBlock;
  const UseDevice use(stream.where);
  if (n <= kFew) return launch(scan_numbers<T>, 1, stream, numbers, n, nullptr, total);
  const auto blocks = (n + kScanBlock - 1) / kScanBlock;
  const auto sums = allocate_scratch(blocks * std::int64_t(sizeof(T)), stream);
  auto* starts = static_cast<T*>(sums.get());
  launch(sum_numbers<T>, blocks, stream, numbers, n, starts);
  scan_any(starts, blocks, total, stream);
  launch(scan_numbers<T>, blocks, stream, numbers, n, starts, nullptr);
}

}  // namespace

void scan(Index* numbers, std::int64_t n, Index* total, Stream stream) {
  scan_any(numbers, n, total, stream);
}
void scan(Offset* numbers, std::int64_t n, Offset* total, Stream stream) {
  scan_any(numbers, n, total, stream);
}

void compact(const Bits* bits, std::int64_t words, Index* list, Index* starts, Index* count, Stream stream) {
  const UseDevice use(stream.where);
  const auto blocks = compact_blocks(words);
  if (blocks > 0) launch(count_words, blocks, stream, bits, words, starts);
  scan_any(starts, blocks, count, stream);
  if (blocks > 0) launch(write_words, blocks, stream, bits, words, starts, list);
}

}  // namespace penstock::gpu
