#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/join_tiles.hpp"

namespace penstock::gpu {
namespace {

constexpr int kEach = 16;  // entries that a thread takes

__global__ void __launch_bounds__(kThreads) sum_kernel(JoinOffsets parts, std::int64_t n, Offset* out) {
  const auto r = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= n) return;
  Offset sum = 0;
  for (int p = 0; p < parts.count; ++p) sum += parts.of[p][r];
  out[r] = sum;
}

__global__ void __launch_bounds__(kThreads)
    shift_kernel(const Offset* from, std::int64_t n, Offset by, Offset* out) {
  const auto r = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r < n) out[r] = from[r] + by;
}

/// The row of entry e: the last r in [from, to) with ends[r] <= e, where ends[from] <= e < ends[to].
__device__ std::int64_t row_of_entry(const Offset* ends, std::int64_t from, std::int64_t to, Offset e) {
  while (to - from > 1) {
    const auto middle = from + (to - from) / 2;
    if (ends[middle] <= e) from = middle;
    else to = middle;
  }
  return from;
}

/// A block takes neighbouring entries, and first finds the range of their rows, because rows may have any length.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    place_kernel(JoinOffsets parts, int which, std::int64_t rows, Offset nnz, const Index* indices,
                 const Word* values, Index first, Index* to, Word* to_values) {
  __shared__ std::int64_t bounds[2];
  const Offset* const mine = parts.of[which];
  const auto begin = Offset(blockIdx.x) * kThreads * kEach;
  const auto end = begin + kThreads * kEach < nnz ? begin + kThreads * kEach : nnz;
  if (threadIdx.x < 2) bounds[threadIdx.x] = row_of_entry(mine, 0, rows, threadIdx.x == 0 ? begin : end - 1);
  __syncthreads();
  for (auto e = begin + threadIdx.x; e < end; e += kThreads) {
    const auto r = row_of_entry(mine, bounds[0], bounds[1] + 1, e);
    auto at = e;
    for (int p = 0; p < parts.count; ++p)
      if (p != which) at += parts.of[p][p < which ? r + 1 : r];
    to[at] = first + read_once(indices + e);
    if (values) to_values[at] = read_once(values + e);
  }
}

}  // namespace

void sum_offsets(const JoinOffsets& parts, std::int64_t n, Offset* out, Stream stream) {
  const UseDevice use(stream.where);
  launch(sum_kernel, blocks_for(n), stream, parts, n, out);
}

void shift_offsets(const Offset* from, std::int64_t n, Offset by, Offset* out, Stream stream) {
  const UseDevice use(stream.where);
  launch(shift_kernel, blocks_for(n), stream, from, n, by, out);
}

void place_entries(const JoinOffsets& parts, int which, const JoinPart& part, Index first, int value_bytes,
                   const Joined& to, Stream stream) {
  if (part.nnz == 0) return;
  const UseDevice use(stream.where);
  const auto blocks = blocks_for((part.nnz + kEach - 1) / kEach);
  const auto place = [&]<class Word>(const Word* values, Word* to_values) {
    launch(place_kernel<Word>, blocks, stream, parts, which, part.rows, part.nnz, part.indices, values, first,
           to.indices, to_values);
  };
  if (value_bytes == 8)
    place(static_cast<const unsigned long long*>(part.values),
          reinterpret_cast<unsigned long long*>(to.values));
  else if (value_bytes == 4)
    place(static_cast<const unsigned*>(part.values), reinterpret_cast<unsigned*>(to.values));
  else place(static_cast<const unsigned*>(nullptr), static_cast<unsigned*>(nullptr));
}

}  // namespace penstock::gpu
