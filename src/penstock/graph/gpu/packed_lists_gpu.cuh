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

/// Says whose entries are in a window of 32, where lanes have runs of entries, one behind the other, some of which may be empty. All lanes
/// of a warp make it, and ask for one window after the other. Shuffles and loads share a unit of the GPU, so a window takes one reduction,
/// where a search takes five shuffles.
class Owners {
 public:
  /// Its run has `size` entries, and `before` lie before it.
  __device__ Owners(int size, int before) : size_(size), before_(before) {
    const unsigned live = __ballot_sync(kAll, size > 0);
    dense_ = (live & (live + 1)) == 0;
    const int lane = int(threadIdx.x & 31);
    if (dense_) return;
    for (int step = 16; step > 0; step /= 2)  // the last lane that has at most `lane` runs before it
      if (__popc(live & ((1u << (nth_ + step)) - 1)) <= lane) nth_ += step;
  }
  /// The lane that has entry base + own lane; for entries behind the last one, the last lane that has any.
  __device__ int window(int base) {
    const int at = before_ - base;
    const unsigned heads = or_warp(size_ > 0 && at >= 0 && at < 32 ? 1u << at : 0u);
    const int rank = begun_ + __popc(heads & (kAll >> (31 - (threadIdx.x & 31)))) - 1;
    begun_ += __popc(heads);
    return dense_ ? rank : __shfl_sync(kAll, nth_, rank);
  }

 private:
  int size_, before_;
  int nth_ = 0;    // the lane of the run with this lane's number, where not all runs are in the first lanes
  int begun_ = 0;  // runs that begin in earlier windows
  bool dense_;
};

/// The chunks that the lanes of a warp hold. Entries are numbered through them.
struct LaneChunks {
  PackedChunk32 chunk;                  // of this lane
  std::uint32_t table = 0, column = 0;  // the column that its first gap is added to
  int before = 0;                       // entries of the lanes before this one
  int gap_bits = 0;                     // that its gaps take: behind them are its lengths
  bool near = true;                     // its list is among PackedListsView::near
};
// How the small numbers of a lane's chunk are passed on together, bit by bit: the bit of a word where its gaps begin; gap_bits, at most 32
// gaps of 31 bits; near; before.
constexpr int kAtWord = 5, kGapBits = 10, kNearAt = kAtWord + kGapBits, kBeforeAt = kNearAt + 1;

/// An entry of the chunks, before the gaps of its list are added up.
struct LaneEntry {
  int of = 0, entry = 0;  // the lane whose chunk it is in, and its number there
  std::uint32_t column = 0, gap = 0, length = 0;
  bool live = false;
};
/// Reads entry n of the chunks, which lane `of` has; `skip`: 1 where these are the first ones of their lists, whose first entries have no
/// gap. `wide`: whether words are numbered beyond 32 bits.
template <bool Lengths, class Ones>
__device__ LaneEntry entry_of(const PackedListsView& p, const LaneChunks& mine, int of, int n, int total,
                              int skip, bool wide, Ones ones) {
  LaneEntry out;
  out.of = of;
  const auto at = mine.chunk.at;
  const int packed = __shfl_sync(
      kAll, int(at & 31) | mine.gap_bits << kAtWord | int(mine.near) << kNearAt | mine.before << kBeforeAt,
      of);
  std::uint64_t word = __shfl_sync(kAll, std::uint32_t(at >> 5), of);
  if (wide) word |= std::uint64_t(__shfl_sync(kAll, std::uint32_t(at >> 37), of)) << 32;
  PackedChunk32 c;
  c.low = __shfl_sync(kAll, mine.chunk.low, of), c.high = __shfl_sync(kAll, mine.chunk.high, of);
  const auto table = __shfl_sync(kAll, mine.table, of);
  out.column = __shfl_sync(kAll, mine.column, of);
  out.entry = n - (packed >> kBeforeAt);
  out.live = n < total;
  if (!out.live) return out;
  const auto* words = (packed >> kNearAt & 1 ? p.near : p.far) + word;
  const int bit = packed & ((1 << kAtWord) - 1);
  if (const int i = out.entry - skip; i >= 0) {
    const unsigned which = (c.low >> i & 1) | (c.high >> i & 1) << 1;
    const int begin = bit + packed_bits(c, table, (1u << i) - 1, i, ones);
    out.gap = bits_at(words, begin, table_width(table, which)) + p.step;
  }
  if constexpr (Lengths) {
    const int end = bit + (packed >> kAtWord & ((1 << kGapBits) - 1));
    out.length = packed_length(p, words, end, out.entry);
  }
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

/// Walks lists of at most kPackedWhole entries, one for each lane of a warp (it may be empty). Most lists are shorter than a warp is
/// wide, so the warp takes them together, a chunk of each at a time: each lane reads the planes of its own chunk, and then all lanes
/// take the entries of these chunks one after the other, whosever they are; columns are sums of gaps within each list. All lanes call
/// f(LaneEntry[Parts], id[Parts]) for Parts entries each, whose ids are -1 where there is none.
template <int Parts, bool Count, bool Lengths, class F>
__device__ void walk_chunks(const ListView& g, const PackedList& mine, F&& f) {
  __shared__ std::uint32_t shared_columns[kThreads];
  const int lane = int(threadIdx.x & 31);
  std::uint32_t* const columns = shared_columns + (threadIdx.x & ~31u);
  const PackedListsView& p = g.packed;
  int left = int(mine.size());
  const bool wide = __any_sync(kAll, left > 0 && mine.at >> 36 != 0);  // a list has fewer than 2^36 bits
  PackedStart start;
  if (left > 0) start = packed_start(p, mine.words, mine.at, mine.vertex);
  LaneChunks chunks{.table = start.table, .column = start.first, .near = mine.words == p.near};
  [[maybe_unused]] std::uintptr_t counted = 0;
  for (int skip = 1;; skip = 0) {
    const int here = left < kPackedChunk ? left : kPackedChunk;
    chunks.before = here;
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
      if (const int other = __shfl_up_sync(kAll, chunks.before, d); lane >= d) chunks.before += other;
    const int total = __shfl_sync(kAll, chunks.before, 31);
    if (total == 0) break;
    chunks.before -= here;
    Owners owners(here, chunks.before);
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
    for (int base = 0; base < total; base += 32 * Parts) {
      LaneEntry entries[Parts];
      Index id[Parts];
#pragma unroll
      for (int part = 0; part < Parts; ++part)
        entries[part] = entry_of<Lengths>(p, chunks, owners.window(base + part * 32), base + part * 32 + lane,
                                          total, skip, wide, Popc{});
#pragma unroll
      for (int part = 0; part < Parts; ++part) {
        const auto& one = entries[part];
        const auto column = column_of(one, carried);
        id[part] = one.live ? Index(column) : -1;
        if (one.live && one.entry == kPackedChunk - 1) columns[one.of] = column;
      }
      f(entries, id);
    }
    __syncwarp();
    if (left > kPackedChunk) chunks.column = columns[lane];
    left -= here;
    __syncwarp();
  }
}

/// Walks the lists of all lanes of a warp: calls f(u, v) for every u in v's list. Each lane brings a list, which may be empty. Short
/// lists come first, together. `named`: whether v is wanted; -1 otherwise.
template <class F>
__device__ void walk_packed_together(const ListView& g, const PackedList& list, bool named, F&& f) {
  constexpr int kParts = 2;
  const bool is_short = list.size() <= kPackedShort;
  auto together = list;
  if (!is_short) together.end = together.begin;
  walk_chunks<kParts, false, false>(g, together,
                                    [&](const LaneEntry(&entries)[kParts], const Index(&id)[kParts]) {
                                      Index from[kParts];
#pragma unroll
                                      for (int part = 0; part < kParts; ++part)
                                        from[part] = __shfl_sync(kAll, list.vertex, entries[part].of);
#pragma unroll
                                      for (int part = 0; part < kParts; ++part)
                                        if (id[part] >= 0) f(id[part], from[part]);
                                    });
  for (unsigned left = __ballot_sync(kAll, !is_short); left != 0; left &= left - 1) {
    const auto own = list_from(list, __ffs(int(left)) - 1);
    decode<32, false>(g, own, kAll, [&](Offset, Index u, bool mine) {
      if (mine) f(u, own.vertex);
      return false;
    });
  }
}

/// Searches a list for an entry with hit(id), and returns it, or -1: as probe() of lists_gpu.cuh, by eight lanes. All lanes call may()
/// before each eight entries after the first ones.
template <bool Count, class F, class M>
__device__ Index probe(const ListView& g, const PackedList& list, unsigned group, F&& hit, M&& may) {
  Index found = -1;
  const int lane = int(threadIdx.x & 7);
  decode<8, Count>(g, list, group, [&](Offset i, Index u, bool mine) {
    const unsigned hits = __ballot_sync(group, mine && hit(u));
    if (hits == 0) return i - lane + 8 < list.end && !may();
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
