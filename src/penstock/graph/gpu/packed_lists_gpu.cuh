#pragma once
#include "penstock/graph/gpu/gpu_lists.hpp"
#include "penstock/kernel/launch_gpu.cuh"

// How kernels read packed lists (packed_form.hpp). All lanes of a group do the same work for a chunk of 32 entries: they read its
// planes, find their gaps by counting bits, and add gaps up by shuffles.
namespace penstock::gpu {

struct Popc {
  __device__ int operator()(std::uint32_t x) const { return __popc(x); }
};

/// Counts the sectors that hold bits [from, to) of words, except those before sector `done`, which was counted; one thread calls.
__device__ inline void count_bits(LinkCounts* counts, const std::uint32_t* words, std::int64_t from,
                                  std::int64_t to, std::uintptr_t& done) {
  const auto base = reinterpret_cast<std::uintptr_t>(words);
  auto sector = (base + std::uintptr_t(from >> 3)) >> 5;
  if (sector < done) sector = done;
  const auto end = (base + std::uintptr_t((to + 7) >> 3) + 31) >> 5;
  while (sector < end) {
    const auto line = (sector / 4 + 1) * 4, stop = line < end ? line : end;
    atomicAdd(&counts->requests[stop - sector - 1], 1ull);
    sector = stop;
  }
  if (done < end) done = end;
}

/// Calls step(position, id, mine) for L entries of the list at a time, in ascending order, until it returns true; `mine` says
/// whether the lane has an entry. L neighbouring lanes (8 or 32), whose mask is `group`, call it with the same list, and all of
/// them call step(), which returns the same for all. The list begins at a multiple of kPackedPiece entries, and ends at one or
/// at its end. Returns whether step() did.
/// With `Lengths`, step(position, id, length, mine) also gets the lengths of edges.
template <int L, bool Count, bool Lengths = false, class S>
__device__ bool decode(const ListView& g, const PackedList& list, unsigned group, S&& step) {
  const int lane = int(threadIdx.x) % L;
  const auto* words = list.words;
  [[maybe_unused]] std::uintptr_t counted = 0;
  for (Offset first = list.begin; first < list.end; first += kPackedPiece) {
    const auto count = int(min(Offset(kPackedPiece), list.end - first));
    const auto place = piece_place(list, first / kPackedPiece);
    const auto start = packed_start(g.packed, words, place, list.vertex);
    std::uint32_t carry = start.first;
    auto at = start.at;
    auto next = packed_chunk(words, at, min(kPackedChunk, count) - 1);
    for (int base = 0; base < count; base += kPackedChunk) {
      const int skip = base == 0, here = min(kPackedChunk, count - base), left = count - base - here;
      const auto chunk = next;
      const auto lengths = chunk_end(chunk, start.table, Popc{});
      const auto end = next_chunk(g.packed, lengths, here);
      // The planes of the next chunk come while this one is decoded.
      if (left > 0) next = packed_chunk(words, end, min(kPackedChunk, left));
      if constexpr (Count)
        if (lane == 0 && !list.near) count_bits(g.counts, words, skip ? place : at, end, counted);
      for (int sub = 0; sub < here; sub += L) {
        const int entry = sub + lane, i = entry - skip;
        const bool mine = entry < here;
        std::uint32_t gap = 0;
        [[maybe_unused]] std::uint32_t length = 0;
        if constexpr (Lengths)
          if (mine) length = packed_length(g.packed, words, lengths, entry);
        if (mine && i >= 0) gap = packed_gap(words, chunk, start.table, i, Popc{}) + g.packed.step;
#pragma unroll
        for (int d = 1; d < L; d *= 2) {
          const std::uint32_t other = __shfl_up_sync(group, gap, d, L);
          if (lane >= d) gap += other;
        }
        const std::uint32_t id = carry + gap;
        if constexpr (Lengths) {
          if (step(first + base + entry, Index(id), length, mine)) return true;
        } else {
          if (step(first + base + entry, Index(id), mine)) return true;
        }
        carry = __shfl_sync(group, id, L - 1, L);
      }
      at = end;
    }
  }
  return false;
}

/// The list that another lane holds. All lanes of `group` call it.
__device__ inline PackedList list_from(const PackedList& mine, int owner, unsigned group = kAll) {
  PackedList out;
  const auto words = __shfl_sync(group, reinterpret_cast<unsigned long long>(mine.words), owner);
  out.words = reinterpret_cast<const std::uint32_t*>(words);
  out.at = __shfl_sync(group, (long long)(mine.at), owner);
  // A list has fewer than 2^31 entries.
  out.begin = __shfl_sync(group, unsigned(mine.begin), owner);
  out.end = __shfl_sync(group, unsigned(mine.end), owner);
  out.vertex = __shfl_sync(group, mine.vertex, owner);
  const int flags = __shfl_sync(group, int(mine.in_pieces) | int(mine.near) << 1, owner);
  out.in_pieces = flags & 1, out.near = (flags & 2) != 0;
  return out;
}

/// The sum over `lanes` neighbouring lanes (1, 8 or 32), all of which call it; the first of them gets it. The order is always the
/// same.
template <class T>
__device__ T add_group(T mine, int lanes) {
  const int first = int(threadIdx.x & 31) & ~(lanes - 1);
  const unsigned group = kAll >> (32 - lanes) << first;
  for (int d = lanes / 2; d > 0; d /= 2) mine += __shfl_down_sync(group, mine, d, lanes);
  return mine;
}
/// Whether the caller is the first of such lanes.
__device__ inline bool leads(int lanes) { return (int(threadIdx.x) & (lanes - 1)) == 0; }

/// Lists of at most so many entries are walked by eight lanes, four lists at a time.
inline constexpr Offset kPackedShort = 64;

/// Walks the lists of all lanes of a warp: f.begin(v), f(u) for every u in v's list, and f.end(v, lanes), by the 8 or 32 lanes that
/// walk the list. Each lane brings a list, which may be empty. Short lists come first.
template <bool Count, class F>
__device__ void walk_packed(const ListView& g, const PackedList& list, F&& f) {
  const int lane = int(threadIdx.x & 31), eight = lane & 24;
  const unsigned group = 0xffu << eight;
  const Offset size = list.size();
  const bool is_short = size > 0 && size <= kPackedShort;
  const unsigned shorts = __ballot_sync(kAll, is_short), longs = __ballot_sync(kAll, size > 0 && !is_short);
  for (unsigned left = shorts >> eight & 0xffu; left != 0; left &= left - 1) {
    const auto own = list_from(list, eight + __ffs(int(left)) - 1, group);
    f.begin(own.vertex);
    decode<8, Count>(g, own, group, [&](Offset, Index u, bool mine) {
      if (mine) f(u);
      return false;
    });
    f.end(own.vertex, 8);
  }
  __syncwarp();
  for (unsigned left = longs; left != 0; left &= left - 1) {
    const auto own = list_from(list, __ffs(int(left)) - 1);
    f.begin(own.vertex);
    decode<32, Count>(g, own, kAll, [&](Offset, Index u, bool mine) {
      if (mine) f(u);
      return false;
    });
    f.end(own.vertex, 32);
  }
}

/// Searches a list for an entry with hit(id), and returns it, or -1: as probe() of lists_gpu.cuh, by eight lanes. After each eight
/// entries all lanes call done().
template <bool Count, class F, class D>
__device__ Index probe(const ListView& g, const PackedList& list, unsigned group, F&& hit, D&& done) {
  Index found = -1;
  decode<8, Count>(g, list, group, [&](Offset, Index u, bool mine) {
    const unsigned hits = __ballot_sync(group, mine && hit(u));
    const bool stops = done();
    if (hits == 0) return stops;
    found = __shfl_sync(group, u, __ffs(int(hits)) - 1);
    return true;
  });
  return found;
}

/// Calls f(u) for the first `most` (at most 32) entries of a list until it returns true; each thread brings a list of its own.
template <bool Count, class F>
__device__ void walk_first(const ListView& g, const PackedList& list, int most, F&& f) {
  if (list.size() == 0) return;
  const auto place = piece_place(list, 0);
  const auto start = packed_start(g.packed, list.words, place, list.vertex);
  const auto here = int(min(Offset(kPackedChunk), list.size()));
  const auto chunk = packed_chunk(list.words, start.at, here - 1);
  if constexpr (Count) {
    std::uintptr_t counted = 0;
    const auto end = chunk_end(chunk, start.table, Popc{});
    if (!list.near) count_bits(g.counts, list.words, place, end, counted);
  }
  std::uint32_t id = start.first;
  auto at = chunk.at;
  for (int i = 0; i < here && i < most; ++i) {
    if (i > 0) {
      const unsigned which = (chunk.low >> (i - 1) & 1) | (chunk.high >> (i - 1) & 1) << 1;
      const int width = table_width(start.table, which);
      id += bits_at(list.words, at, width) + g.packed.step;
      at += width;
    }
    if (f(Index(id))) return;
  }
}

}  // namespace penstock::gpu
