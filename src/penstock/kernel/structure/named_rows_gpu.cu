#include <algorithm>

#include "penstock/kernel/structure/named_rows.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

// Copies read another GPU's memory over a link, where a load takes 1.5 us and more: each thread has several under way, and as few
// blocks as fill the link leave room for the product that is computed meanwhile (as in copy_by_kernel_gpu.cu).
namespace penstock::gpu {
namespace {

constexpr int kLoads = 4;
constexpr std::int64_t kMostBlocks = 64;

__device__ void mark_bit(std::uint32_t* marks, std::int64_t n) {
  const auto bit = 1u << (n % kMarks);
  auto* const word = marks + n / kMarks;
  if (!(*reinterpret_cast<volatile std::uint32_t*>(word) & bit)) atomicOr(word, bit);
}

__global__ void __launch_bounds__(kThreads)
    mark_columns_kernel(const Index* __restrict__ indices, Offset count, std::uint32_t* marks) {
  const auto e = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (e < count) mark_bit(marks, read_once(indices + e));
}

__global__ void __launch_bounds__(kThreads)
    mark_rows_kernel(const Offset* __restrict__ indptr, std::int64_t rows, std::uint32_t* marks) {
  const auto r = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const bool some = r < rows && indptr[r] < indptr[r + 1];
  const auto word = __ballot_sync(kAll, some);  // a warp's rows are those of one word
  if (threadIdx.x % 32 == 0 && word != 0) marks[r / kMarks] |= word;
}

template <class Word, class Count>
__global__ void __launch_bounds__(kThreads)
    copy_rows_kernel(Word* __restrict__ to, const Word* __restrict__ from, const Index* __restrict__ names,
                     Count words, Count per_row) {
  for (auto first = Count(blockIdx.x) * (kThreads * kLoads); first < words;
       first += Count(gridDim.x) * (kThreads * kLoads)) {
    Word held[kLoads];
    std::int64_t at[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const auto i = first + Count(k * kThreads + threadIdx.x);
      if (i >= words) continue;
      const auto entry = i / per_row;
      at[k] = std::int64_t(names[entry]) * std::int64_t(per_row) + std::int64_t(i - entry * per_row);
      held[k] = from[at[k]];
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k)
      if (first + Count(k * kThreads + threadIdx.x) < words) to[at[k]] = held[k];
  }
}

/// A warp copies the entries of a row.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    copy_entries_kernel(const Index* __restrict__ names, std::int64_t count,
                        const Offset* __restrict__ from_ends, const Word* __restrict__ from,
                        const Offset* __restrict__ to_ends, Word* __restrict__ to) {
  const auto warps = std::int64_t(gridDim.x) * (kThreads / 32);
  for (auto n = (std::int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32; n < count; n += warps) {
    const auto row = names[n];
    const auto first = from_ends[row], entries = from_ends[row + 1] - first, at = to_ends[row];
    for (auto e = std::int64_t(threadIdx.x % 32); e < entries; e += 32) to[at + e] = from[first + e];
  }
}

// A thread's last count passes the end by less than the grid's step, which must not overflow.
constexpr std::int64_t kNarrow = (std::int64_t(1) << 32) - 2 * kMostBlocks * kThreads * kLoads;

template <class Word>
void copy_words(std::byte* to, const std::byte* from, std::int64_t per_row, const Index* names,
                std::int64_t count, Stream stream) {
  const auto words = count * per_row;
  const auto blocks = std::min(kMostBlocks, blocks_for((words + kLoads - 1) / kLoads));
  auto* const out = reinterpret_cast<Word*>(to);
  const auto* const in = reinterpret_cast<const Word*>(from);
  if (words < kNarrow)
    launch(copy_rows_kernel<Word, std::uint32_t>, blocks, stream, out, in, names, words, per_row);
  else launch(copy_rows_kernel<Word, std::uint64_t>, blocks, stream, out, in, names, words, per_row);
}

}  // namespace

void mark_columns(const Index* indices, Offset count, std::uint32_t* marks, Stream stream) {
  const UseDevice use(stream.where);
  launch(mark_columns_kernel, blocks_for(count), stream, indices, count, marks);
}

void mark_rows(const Offset* indptr, std::int64_t rows, std::uint32_t* marks, Stream stream) {
  const UseDevice use(stream.where);
  launch(mark_rows_kernel, blocks_for(rows), stream, indptr, rows, marks);
}

void copy_rows(std::byte* to, const std::byte* from, std::int64_t row_bytes, const Index* names,
               std::int64_t count, Stream stream) {
  const UseDevice use(stream.where);
  const auto together = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) |
                        static_cast<std::uintptr_t>(row_bytes);
  const auto run = [&]<class Word>(Word) {
    copy_words<Word>(to, from, row_bytes / static_cast<std::int64_t>(sizeof(Word)), names, count, stream);
  };
  if (together % 16 == 0) run(uint4{});
  else if (together % 8 == 0) run(std::uint64_t{});
  else if (together % 4 == 0) run(std::uint32_t{});
  else run(std::uint8_t{});
}

void copy_entries(const Index* names, std::int64_t count, const Offset* from_ends, const std::byte* from,
                  const Offset* to_ends, std::byte* to, int each, Stream stream) {
  const UseDevice use(stream.where);
  // Rows are short and their number is large, so more warps than for whole rows keep the link full.
  const auto blocks = std::min(4 * kMostBlocks, blocks_for(count * 32));
  const auto run = [&]<class Word>(Word) {
    launch(copy_entries_kernel<Word>, blocks, stream, names, count, from_ends,
           reinterpret_cast<const Word*>(from), to_ends, reinterpret_cast<Word*>(to));
  };
  if (each == 8) run(std::uint64_t{});
  else if (each == 4) run(std::uint32_t{});
  else run(std::uint8_t{});
}

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
PENSTOCK_FOR_EACH_NAMED_STEP(X)
#undef X

}  // namespace penstock::gpu
