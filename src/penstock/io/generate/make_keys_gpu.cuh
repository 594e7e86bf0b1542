#pragma once
// Makes the edges of a generator on a GPU, as keys: each thread draws edges by number, with the functions that the CPU calls.
//
// The keys that a block makes in a round are written side by side, at a place that one atomic addition reserves. So their
// order is arbitrary; they are sorted afterwards. A block works for many rounds, because it first copies the generator's
// tables into its shared memory.
#include "penstock/io/generate/keys_gpu.hpp"
#include "penstock/kernel/launch_gpu.cuh"

namespace penstock::gpu {
namespace detail {

constexpr int kWarps = kThreads / 32;
static_assert(kThreads == kKeyThreads);
constexpr int kEdges = 4;  // edges of a thread in a round; each may have a mirror image
constexpr std::int64_t kRound = std::int64_t{kEdges} * kThreads;
constexpr int kSlots = 2 * kEdges;

/// The generator with its tables in shared memory. All threads of the block call it, and afterwards all may use it.
template <class Edges>
__device__ Edges staged(const Edges& edges, AliasCell* shared) {
  if constexpr (Edges::kCells == 0) {
    return edges;
  } else {
    for (int i = int(threadIdx.x); i < edges.cells(); i += kThreads) shared[i] = edges.first_cell()[i];
    __syncthreads();
    return edges.with_cells(shared);
  }
}

/// Calls take(slot, key) for those keys of this thread's edges of a round that are in the window. `slot` is known when it is
/// compiled.
template <class Edges, class Take>
__device__ void draw(const Edges& edge, const KeyWindow& window, std::int64_t round, Take&& take) {
  const int bits = window.column_bits;
  const auto offer = [&](int slot, std::int64_t row, std::int64_t column) {
    const auto key = (std::uint64_t(row) << bits | std::uint64_t(column)) - window.range.first;
    if (key < window.range.size()) take(slot, key);  // a key before the range wraps around, and is too large
  };
#pragma unroll
  for (int i = 0; i < kEdges; ++i) {
    const auto e = round + i * kThreads + int(threadIdx.x);
    if (e >= window.last) continue;
    const auto [row, column] = edge(e);
    if (row < 0) continue;
    offer(2 * i, row, column);
    if (edge.mirrored() && row != column) offer(2 * i + 1, column, row);
  }
}

template <class Edges>
__global__ void __launch_bounds__(kThreads, 4)
    make_keys(Edges edges, KeyWindow window, std::uint64_t* __restrict__ keys, std::int64_t limit,
              unsigned long long* __restrict__ held) {
  __shared__ AliasCell cells[Edges::kCells > 0 ? Edges::kCells : 1];
  __shared__ unsigned counts[kWarps];
  __shared__ unsigned long long places[kWarps];
  const auto edge = staged(edges, cells);
  const int warp = int(threadIdx.x) / 32;
  const unsigned before = (1u << threadIdx.x % 32) - 1;  // the lanes below this one
  for (auto round = window.first + blockIdx.x * kRound; round < window.last; round += gridDim.x * kRound) {
    std::uint64_t mine[kSlots];
    unsigned taken = 0;
    draw(edge, window, round, [&](int slot, std::uint64_t key) {
      mine[slot] = key;
      taken |= 1u << slot;
    });
    unsigned lanes[kSlots], count = 0;
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) {
      lanes[slot] = __ballot_sync(kAll, taken >> slot & 1);
      count += __popc(lanes[slot]);
    }
    if (threadIdx.x % 32 == 0) counts[warp] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned sum = 0;
      for (int w = 0; w < kWarps; ++w) sum += counts[w];
      auto place = atomicAdd(held, static_cast<unsigned long long>(sum));
      for (int w = 0; w < kWarps; ++w) {
        places[w] = place;
        place += counts[w];
      }
    }
    // The first barrier of the next round keeps the places from being written before they have been read here.
    __syncthreads();
    auto place = std::int64_t(places[warp]);
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) {
      const auto at = place + __popc(lanes[slot] & before);
      if ((taken >> slot & 1) && at < limit) keys[at] = mine[slot];
      place += __popc(lanes[slot]);
    }
  }
}

template <class Edges>
__global__ void __launch_bounds__(kThreads, 4)
    count_keys(Edges edges, KeyWindow window, unsigned long long* __restrict__ counts) {
  constexpr int kGranules = 1 << kGranuleBits;
  __shared__ AliasCell cells[Edges::kCells > 0 ? Edges::kCells : 1];
  __shared__ unsigned here[kGranules];  // a launch draws too few edges for one of them to overflow
  for (int g = int(threadIdx.x); g < kGranules; g += kThreads) here[g] = 0;
  const auto edge = staged(edges, cells);
  __syncthreads();
  const int shift = window.granule_shift;
  for (auto round = window.first + blockIdx.x * kRound; round < window.last; round += gridDim.x * kRound)
    draw(edge, window, round, [&](int, std::uint64_t key) { atomicAdd(&here[key >> shift], 1u); });
  __syncthreads();
  for (int g = int(threadIdx.x); g < kGranules; g += kThreads)
    if (here[g] > 0) atomicAdd(&counts[g], static_cast<unsigned long long>(here[g]));
}

inline std::int64_t blocks_of(const KeyWindow& window) {
  const auto rounds = (window.last - window.first + kRound - 1) / kRound;
  return rounds < window.blocks ? rounds : window.blocks;
}

}  // namespace detail

template <class Edges>
void make_keys(const Edges& edges, const KeyWindow& window, std::uint64_t* keys, std::int64_t limit,
               std::int64_t* held, Stream stream) {
  if (const auto blocks = detail::blocks_of(window); blocks > 0)
    launch(detail::make_keys<Edges>, blocks, stream, edges, window, keys, limit,
           reinterpret_cast<unsigned long long*>(held));
}

template <class Edges>
void count_keys(const Edges& edges, const KeyWindow& window, std::int64_t* counts, Stream stream) {
  if (const auto blocks = detail::blocks_of(window); blocks > 0)
    launch(detail::count_keys<Edges>, blocks, stream, edges, window,
           reinterpret_cast<unsigned long long*>(counts));
}

}  // namespace penstock::gpu
