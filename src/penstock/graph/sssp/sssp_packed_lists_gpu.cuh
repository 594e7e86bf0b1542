#pragma once
#include "penstock/graph/gpu/lists_gpu.cuh"
#include "penstock/graph/sssp/sssp_window_gpu.cuh"

// How kernels of shortest paths decode packed lists with their lengths. Most lists are shorter than a warp is wide, so a warp takes
// the lists of its 32 lanes together, a chunk of each at a time: each lane reads the planes of its own chunk, and then all lanes
// take the entries of these chunks one after the other, whosever they are. Columns are sums of gaps within each list.
namespace penstock::gpu {

/// The chunks that the lanes of a warp hold. Entries are numbered through them.
struct LaneChunks {
  PackedChunk32 chunk;                  // of this lane
  std::uint32_t table = 0, column = 0;  // the column that its first gap is added to
  int before = 0;                       // entries of the lanes before this one
  int gap_bits = 0;                     // that its gaps take: behind them are its lengths
  bool near = true;                     // its list is among PackedListsView::near
};
constexpr int kGapBits = 10;  // in which gap_bits is passed on: at most 32 gaps of 31 bits

/// An entry of the chunks, before the gaps of its list are added up.
struct LaneEntry {
  int of = 0, entry = 0;  // the lane whose chunk it is in, and its number there
  std::uint32_t column = 0, gap = 0, length = 0;
  bool live = false;
};
/// Reads entry n of the chunks; `skip`: 1 where these are the first ones of their lists, whose first entries have no gap.
template <class Ones>
__device__ LaneEntry entry_of(const PackedListsView& p, const LaneChunks& mine, int n, int total, int skip,
                              Ones ones) {
  LaneEntry out;
#pragma unroll
  for (int step = 16; step > 0; step /= 2)  // the last lane that has at most n entries before it
    if (const int b = __shfl_sync(kAll, mine.before, out.of + step); b <= n) out.of += step;
  const int packed =
      __shfl_sync(kAll, mine.gap_bits | int(mine.near) << kGapBits | mine.before << (kGapBits + 1), out.of);
  PackedChunk32 c;
  c.at = __shfl_sync(kAll, (long long)(mine.chunk.at), out.of);
  c.low = __shfl_sync(kAll, mine.chunk.low, out.of), c.high = __shfl_sync(kAll, mine.chunk.high, out.of);
  const auto table = __shfl_sync(kAll, mine.table, out.of);
  out.column = __shfl_sync(kAll, mine.column, out.of);
  out.entry = n - (packed >> (kGapBits + 1));
  out.live = n < total;
  if (!out.live) return out;
  const auto* words = packed >> kGapBits & 1 ? p.near : p.far;
  if (const int i = out.entry - skip; i >= 0) out.gap = packed_gap(words, c, table, i, ones) + p.step;
  out.length = packed_length(p, words, c.at + (packed & ((1 << kGapBits) - 1)), out.entry);
  return out;
}
/// The column of each lane's entry; `carried`: that of the entry before lane 0's, and then of lane 31's. All lanes call it.
__device__ inline std::uint32_t column_of(const LaneEntry& e, std::uint32_t& carried) {
  const int lane = int(threadIdx.x & 31);
  std::uint32_t gap = e.gap;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const std::uint32_t other = __shfl_up_sync(kAll, gap, d);
    if (lane >= d && e.entry >= d) gap += other;
  }
  const std::uint32_t id = gap + (e.entry > lane ? carried : e.column);
  carried = __shfl_sync(kAll, id, 31);
  return id;
}

/// Walks lists of at most kPackedWhole entries, one for each lane (it may be empty). `best` is shared memory for kThreads keys.
/// Returns the least that was found in the lane's own list.
template <bool Count, class W, class E>
__device__ auto walk_packed_lanes(const ListView& g, const E& e, const PackedList& mine, Index owner,
                                  typename E::K from, typename E::K* best) {
  using K = typename E::K;
  constexpr int kParts = 2;
  __shared__ std::uint32_t shared_columns[kThreads];
  const int lane = int(threadIdx.x & 31);
  K* const bests = best + (threadIdx.x & ~31u);
  std::uint32_t* const columns = shared_columns + (threadIdx.x & ~31u);
  const PackedListsView& p = g.packed;
  int left = int(mine.size());
  PackedStart start;
  if (left > 0) start = packed_start(p, mine.words, mine.at, mine.vertex);
  LaneChunks chunks{.table = start.table, .column = start.first, .near = mine.words == p.near};
  [[maybe_unused]] std::uintptr_t counted = 0;
  bests[lane] = E::kNone;
  __syncwarp();
  for (int skip = 1;; skip = 0) {
    const int here = left < kPackedChunk ? left : kPackedChunk;
    chunks.before = here;
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
      if (const int other = __shfl_up_sync(kAll, chunks.before, d); lane >= d) chunks.before += other;
    const int total = __shfl_sync(kAll, chunks.before, 31);
    if (total == 0) break;
    chunks.before -= here;
    if (here > 0) {
      chunks.chunk = packed_chunk(mine.words, start.at, here - skip);
      const auto lengths = chunk_end(chunks.chunk, start.table, Popc{});
      const auto end = next_chunk(p, lengths, here);
      chunks.gap_bits = int(lengths - chunks.chunk.at);
      if constexpr (Count)
        if (!mine.near) count_bits(g.counts, mine.words, skip ? mine.at : start.at, end, counted);
      start.at = end;
    }
    std::uint32_t carried = 0;
    for (int base = 0; base < total; base += 32 * kParts) {
      LaneEntry entries[kParts];
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        entries[part] = entry_of(p, chunks, base + part * 32 + lane, total, skip, Popc{});
      Index id[kParts], owners[kParts];
      W length[kParts];
      K from_of[kParts], found[kParts];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const auto& one = entries[part];
        const auto column = column_of(one, carried);
        owners[part] = __shfl_sync(kAll, owner, one.of);
        from_of[part] = __shfl_sync(kAll, from, one.of);
        id[part] = one.live ? Index(column) : -1;
        length[part] = W{one.length};
        if (one.live && one.entry == kPackedChunk - 1) columns[one.of] = column;
      }
      e.template take<kParts>(id, length, owners, from_of, found);
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        if (found[part] < E::kNone) atomicMin(&bests[entries[part].of], found[part]);
    }
    __syncwarp();
    if (left > kPackedChunk) chunks.column = columns[lane];
    left -= here;
    __syncwarp();
  }
  __syncwarp();
  return bests[lane];
}

}  // namespace penstock::gpu
