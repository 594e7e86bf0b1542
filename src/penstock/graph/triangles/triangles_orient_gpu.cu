// Orients edges: checks, degrees, keys and lists. Threads take entries, not rows, so that hubs cost no more than other
// vertices; a block searches its first and its last row, and each thread searches between them.
#include "penstock/graph/gpu/compact.hpp"
#include "penstock/graph/triangles/triangles_facts_gpu.cuh"
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/structure/entry_steps.hpp"

namespace penstock::gpu {
namespace {

constexpr int kEntriesEach = 8;  // entries that a thread takes
constexpr Offset kBlockEntries = kThreads * kEntriesEach;

std::int64_t blocks_of(Offset entries) { return (entries + kBlockEntries - 1) / kBlockEntries; }

/// The row that has entry k. It is in [low, high), and offsets[low] <= k < offsets[high].
__device__ std::int64_t row_at(const Offset* offsets, std::int64_t low, std::int64_t high, Offset k) {
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    if (offsets[middle] <= k) low = middle;
    else high = middle;
  }
  return low;
}

/// Calls f(i, k, row) for the entries k = first + i * kThreads + threadIdx.x, i < kEntriesEach, that are before `last`. All
/// threads of the block call it, with first < last.
template <class F>
__device__ void for_entries(const Pattern& a, Offset first, Offset last, F&& f) {
  __shared__ std::int64_t ends[2];
  if (threadIdx.x < 2)
    ends[threadIdx.x] = row_at(a.offsets, 0, a.vertices, threadIdx.x == 0 ? first : last - 1);
  __syncthreads();
  const auto low = ends[0], high = ends[1] + 1;
#pragma unroll
  for (int i = 0; i < kEntriesEach; ++i)
    if (const Offset k = first + i * kThreads + threadIdx.x; k < last)
      f(i, k, row_at(a.offsets, low, high, k));
}

/// Whether row v, which ascends, has u.
__device__ bool has_entry(const Pattern& a, Index v, Index u) {
  Offset low = a.offsets[v], high = a.offsets[v + 1];
  const Offset end = high;
  while (low < high) {
    const Offset middle = low + (high - low) / 2;
    if (a.ends[middle] < u) low = middle + 1;
    else high = middle;
  }
  return low < end && a.ends[low] == u;
}

/// The mirror (v, u) of an entry (u, v) below the diagonal comes before it, so it has been uploaded when (u, v) has.
__global__ void __launch_bounds__(kThreads)
    find_faults(Pattern a, Offset begin, Offset end, bool mirrors, PatternFacts* facts) {
  __shared__ unsigned known;
  if (threadIdx.x == 0) known = *static_cast<volatile unsigned*>(&facts->faults);
  __syncthreads();
  if (known != 0) return;
  const Offset first = begin + Offset(blockIdx.x) * kBlockEntries, last = min(end, first + kBlockEntries);
  bool fault = false;
  for_entries(a, first, last, [&](int, Offset k, std::int64_t row) {
    const auto u = Index(row);
    const Index v = a.ends[k];
    fault |= v == u || (k > a.offsets[row] && a.ends[k - 1] >= v);
    if (mirrors && v < u) fault |= !has_entry(a, v, u);
  });
  if (__syncthreads_or(fault) && threadIdx.x == 0) atomicOr(&facts->faults, 1u);
}

__global__ void __launch_bounds__(kThreads) measure(Pattern a, Index* below, PatternFacts* facts) {
  SeenOfLists seen;
  for (auto u = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; u < a.vertices;
       u += std::int64_t(gridDim.x) * kThreads) {
    const Offset begin = a.offsets[u], end = a.offsets[u + 1];
    Offset low = begin, high = end;
    while (low < high) {
      const Offset middle = low + (high - low) / 2;
      if (a.ends[middle] < u) low = middle + 1;
      else high = middle;
    }
    below[u] = Index(low - begin);
    seen.add(low - begin, end - begin);
  }
  seen.add_to(facts);
}

__global__ void __launch_bounds__(kThreads)
    make_degree_keys(Pattern a, unsigned long long most, int bits, std::uint64_t* keys) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= a.vertices) return;
  const auto degree = std::uint64_t(a.offsets[v + 1] - a.offsets[v]);
  keys[v] = (std::uint64_t(most) - degree) << bits | std::uint64_t(v);
}

__device__ std::uint64_t low_bits(std::uint64_t key, int bits) {
  return key & ((std::uint64_t{1} << bits) - 1);
}

__global__ void __launch_bounds__(kThreads)
    number_vertices(const std::uint64_t* keys, std::int64_t vertices, int bits, Index* number) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < vertices) number[low_bits(keys[i], bits)] = Index(i);
}

/// A block sorts out which of its entries become keys, takes room for all of them at once, and writes them side by side.
template <KeysOf what>
__global__ void __launch_bounds__(kThreads)
    collect_keys(Pattern a, const Index* number, int bits, std::uint64_t* keys, std::int64_t limit,
                 PatternFacts* facts) {
  constexpr int kWarps = kThreads / 32;
  __shared__ int before[kWarps];
  __shared__ unsigned long long base;
  const int lane = int(threadIdx.x & 31), warp = int(threadIdx.x / 32);
  const Offset first = Offset(blockIdx.x) * kBlockEntries, last = min(a.entries, first + kBlockEntries);
  std::uint64_t key[kEntriesEach] = {};
  bool wanted[kEntriesEach] = {};
  for_entries(a, first, last, [&](int i, Offset k, std::int64_t row) {
    const Index v = a.ends[k];
    const Index from = what == KeysOf::lower ? number[row] : what == KeysOf::along ? Index(row) : v;
    const Index to = what == KeysOf::lower ? number[v] : what == KeysOf::along ? v : Index(row);
    key[i] = std::uint64_t(from) << bits | std::uint64_t(to);
    wanted[i] = what == KeysOf::lower ? to < from : to != from;
  });
  unsigned lanes[kEntriesEach];
  int mine = 0;
#pragma unroll
  for (int i = 0; i < kEntriesEach; ++i) {
    lanes[i] = __ballot_sync(kAll, wanted[i]);
    mine += __popc(lanes[i]);
  }
  if (lane == 0) before[warp] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    int all = 0;
    for (int w = 0; w < kWarps; ++w) {
      const int count = before[w];
      before[w] = all;
      all += count;
    }
    base = atomicAdd(&facts->held, static_cast<unsigned long long>(all));
  }
  __syncthreads();
  auto at = std::int64_t(base) + before[warp];
#pragma unroll
  for (int i = 0; i < kEntriesEach; ++i) {
    const auto place = at + __popc(lanes[i] & ((1u << lane) - 1));
    if (wanted[i] && place < limit) keys[place] = key[i];
    at += __popc(lanes[i]);
  }
}

__global__ void __launch_bounds__(kThreads)
    write_ends(const std::uint64_t* keys, std::int64_t count, int bits, Index* ends) {
  const auto k = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k < count) ends[k] = Index(low_bits(keys[k], bits));
}

/// Searches the keys once for each row. A loop over the rows that a key skips could take one thread through all rows.
__global__ void __launch_bounds__(kThreads) write_begins(const std::uint64_t* keys, std::int64_t count,
                                                         int bits, std::int64_t rows, Offset* offsets) {
  const auto row = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (row > rows) return;
  offsets[row] = first_at_least(keys, count, std::uint64_t(row) << bits);
}

__global__ void __launch_bounds__(kThreads) widen(const Index* below, std::int64_t rows, Offset* lengths) {
  const auto u = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (u <= rows) lengths[u] = u < rows ? below[u] : 0;
}

__global__ void __launch_bounds__(kThreads)
    copy_lower(Pattern a, const Index* below, const Offset* offsets, Index* ends) {
  const Offset first = Offset(blockIdx.x) * kBlockEntries, last = min(a.entries, first + kBlockEntries);
  for_entries(a, first, last, [&](int, Offset k, std::int64_t row) {
    if (const Offset i = k - a.offsets[row]; i < below[row]) ends[offsets[row] + i] = a.ends[k];
  });
}

}  // namespace

void check_entries(const Pattern& a, Offset first, Offset last, bool mirrors, PatternFacts* facts,
                   Stream stream) {
  if (last > first) launch(find_faults, blocks_of(last - first), stream, a, first, last, mirrors, facts);
}

void measure_rows(const Pattern& a, Index* below, PatternFacts* facts, Stream stream) {
  const auto blocks = std::min(full_grid(stream), blocks_for(a.vertices));
  if (blocks > 0) launch(measure, blocks, stream, a, below, facts);
}

void degree_keys(const Pattern& a, unsigned long long most, int bits, std::uint64_t* keys, Stream stream) {
  if (a.vertices > 0) launch(make_degree_keys, blocks_for(a.vertices), stream, a, most, bits, keys);
}

void write_numbers(const std::uint64_t* keys, std::int64_t vertices, int bits, Index* number, Stream stream) {
  if (vertices > 0) launch(number_vertices, blocks_for(vertices), stream, keys, vertices, bits, number);
}

void append_keys(const Pattern& a, KeysOf what, const Index* number, int bits, std::uint64_t* keys,
                 std::int64_t limit, PatternFacts* facts, Stream stream) {
  if (a.entries == 0) return;
  const auto run = [&](auto* kernel) {
    launch(kernel, blocks_of(a.entries), stream, a, number, bits, keys, limit, facts);
  };
  switch (what) {
    case KeysOf::lower: return run(collect_keys<KeysOf::lower>);
    case KeysOf::along: return run(collect_keys<KeysOf::along>);
    case KeysOf::against: return run(collect_keys<KeysOf::against>);
  }
}

void write_lists(const std::uint64_t* keys, std::int64_t count, int bits, std::int64_t rows, Offset* offsets,
                 Index* ends, Stream stream) {
  if (count > 0) launch(write_ends, blocks_for(count), stream, keys, count, bits, ends);
  launch(write_begins, blocks_for(rows + 1), stream, keys, count, bits, rows, offsets);
}

void offsets_below(const Index* below, std::int64_t rows, Offset* offsets, Stream stream) {
  launch(widen, blocks_for(rows + 1), stream, below, rows, offsets);
  scan(offsets, rows + 1, nullptr, stream);
}

void copy_below(const Pattern& a, const Index* below, const Offset* offsets, Index* ends, Stream stream) {
  if (a.entries > 0) launch(copy_lower, blocks_of(a.entries), stream, a, below, offsets, ends);
}

}  // namespace penstock::gpu
