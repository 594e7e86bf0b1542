#pragma once
// Kernels that count triangles over oriented edges (see triangles_cpu.cpp): each is found at its vertex of largest number. The ends of
// that vertex are put into a table in shared memory, and the lists of those ends are looked up in it. A warp takes a short
// list, with a hash table of its own (vertex-centric hashing as in TRUST: Pandey et al. 2021); blocks take longer lists in
// chunks of ends. The table of a block is a bitmap if numbers are small, as those of hubs are; otherwise it is a hash table,
// which is made again for each range of ends that it has room for.
//
// Of lists in the GPU's own memory a warp looks up 32 at a time (triangles_flat_gpu.cuh). Lists that come over the link are
// walked one by one, because their reads must begin at multiples of 128 bytes.
#include "penstock/graph/triangles/triangles_flat_gpu.cuh"
#include "penstock/graph/triangles/triangles_gpu_state.hpp"
#include "penstock/graph/triangles/triangles_tables_gpu.cuh"

namespace penstock::gpu {

inline constexpr int kWarps = kThreads / 32;
inline constexpr int kWarpTable = 4 * kShortList;

/// The lists of one GPU: those whose ends go to tables, rows(), and those that are looked up, ends(), are the same.
template <Access A>
struct WholeLists {
  static constexpr Access kAccess = A;
  ListView g;
  __device__ const ListView& rows() const { return g; }
  __device__ const ListView& ends() const { return g; }
  __device__ Index number(Index row) const { return row; }     // of a list of rows()
  __device__ Index number_of_end(Index v) const { return v; }  // of a list of ends()
  __device__ Index end_of(Index number) const {
    return number;
  }  // the list of ends() with that number, or -1
};
/// Rows that another part of the graph has, looked up in the lists of one part.
template <Access A>
struct PartLists {
  static constexpr Access kAccess = A;
  ListView from, own;
  Index from_first = 0, first = 0;  // the numbers of their first lists
  __device__ const ListView& rows() const { return from; }
  __device__ const ListView& ends() const { return own; }
  __device__ Index number(Index row) const { return from_first + row; }
  __device__ Index number_of_end(Index v) const { return first + v; }
  __device__ Index end_of(Index number) const {
    return number >= first && number - first < own.vertices ? number - first : -1;
  }
};

/// The list whose ends go to a table is always read by whole warps.
template <Access A>
inline constexpr Access kLoad = A == Access::strided ? Access::merged : A;

/// Looks lists up in a table. `all` counts what this lane found.
template <bool Each, class Lists, class Table>
struct Look {
  const Lists& lists;
  Table table;
  unsigned long long* of_number;
  unsigned found = 0;
  unsigned long long all = 0;

  __device__ void begin(Index) { found = 0; }
  __device__ void operator()(Index w) {
    if (!table.has(w)) return;
    ++found;
    if constexpr (Each) atomicAdd(&of_number[w], 1ull);
  }
  __device__ void end(Index v, int lanes) {
    all += found;
    if constexpr (Each) {
      const unsigned sum = lanes == 32 ? add_warp(found) : add_group(found, lanes);
      if (leads(lanes) && sum > 0)
        atomicAdd(&of_number[lists.number_of_end(v)], static_cast<unsigned long long>(sum));
    }
  }
};

/// Adds what each lane of a warp found to the total and to u's own.
template <bool Each>
__device__ void add_up(const TriangleState& s, Index u, unsigned long long mine) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(kAll, mine, d);
  if ((threadIdx.x & 31) != 0 || mine == 0) return;
  atomicAdd(&s.counts->total, mine);
  if constexpr (Each) atomicAdd(&s.of_number[u], mine);
}

/// Looks up the lists of ids[first, last), 32 of them at a time.
template <bool Count, class Lists, class L>
__device__ void look_up(const Lists& lists, const Index* ids, int first, int last, int step, L& look) {
  constexpr Access A = Lists::kAccess;
  for (int base = first; base < last; base += step) {
    const int at = base + int(threadIdx.x & 31);
    const Index v = at < last ? lists.end_of(ids[at]) : -1;
    ListOf<A> list;
    if (v >= 0) list = list_of<A>(lists.ends(), v);
    walk_each<A, Count>(lists.ends(), list, v, look);
  }
}

/// What this lane finds of the triangles whose vertex of largest number has the ends ids[0, size), which ascend.
template <bool Count, bool Each, class Lists>
__device__ unsigned find_short(const Lists& lists, const TriangleState& s, WarpHash table, SideBySide& row,
                               const Index* ids, int size) {
  constexpr Access A = Lists::kAccess;
  if constexpr (A == Access::direct) {
    // The ends of the smallest number are smaller than all in the table.
    return look_up_flat<Count, Each>(
        lists.ends(), s.of_number, row, ids, 1, size, [&](Index w) { return table.has(w); },
        [&](const List& list, Index v) {
          Look<Each, Lists, WarpHash> look{lists, table, s.of_number};
          walk_each<A, Count>(lists.ends(), list, v, look);
          return unsigned(look.all);
        });
  } else {
    Look<Each, Lists, WarpHash> look{lists, table, s.of_number};
    look_up<Count>(lists, ids, 0, size, 32, look);
    return unsigned(look.all);
  }
}

template <bool Count, bool Each, class Lists>
__global__ void __launch_bounds__(kThreads) count_short(Lists lists, TriangleState s) {
  constexpr Access A = Lists::kAccess;
  const ListView& g = lists.rows();
  __shared__ Index slots[kWarps][kWarpTable], ids[kWarps][kShortList];
  __shared__ SideBySide rows[kWarps];
  __shared__ unsigned long long all;
  const int lane = int(threadIdx.x & 31), warp = int(threadIdx.x / 32);
  const auto mine = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  ListOf<A> own;
  Index number = 0;
  if (mine < g.vertices) {
    number = s.order ? s.order[mine] : Index(mine);
    own = list_of<A>(g, number);
  }
  if (own.size() > kShortList) {
    const auto chunks = Index((own.size() + kChunk - 1) / kChunk);
    const Index at = atomicAdd(&s.counts->chunks, chunks);
    for (Index i = 0; i < chunks; ++i) s.chunks[at + i] = {number, i};
    own.end = own.begin;
  }
  unsigned long long found = 0;
  for (unsigned left = __ballot_sync(kAll, own.size() > 1); left != 0; left &= left - 1) {
    const int owner = __ffs(int(left)) - 1;
    const auto list = list_from(own, owner);
    const Index u = lists.number(__shfl_sync(kAll, number, owner));
    const WarpHash table(slots[warp], int(list.size()));
    table.clear();
    __syncwarp();
    walk<kLoad<A>, Count>(g, list, [&](Offset i, Index v) {
      ids[warp][i - list.begin] = v;
      table.insert(v);
    });
    __syncwarp();
    const unsigned some = find_short<Count, Each>(lists, s, table, rows[warp], ids[warp], int(list.size()));
    if constexpr (Each) {
      // A list of kShortList ends closes fewer than kShortList^2 triangles.
      if (const unsigned sum = add_warp(some); lane == 0 && sum > 0)
        atomicAdd(&s.of_number[u], static_cast<unsigned long long>(sum));
    }
    found += some;
    __syncwarp();
  }
  // One sum for each block: sums at one place are added one after the other.
#pragma unroll
  for (int d = 16; d > 0; d /= 2) found += __shfl_down_sync(kAll, found, d);
  if (lane == 0 && found > 0) atomicAdd(&all, found);
  __syncthreads();
  if (threadIdx.x == 0 && all > 0) atomicAdd(&s.counts->total, all);
}

/// The warps of a block walk entries [first, last) of a list, and call f(position, id) for each.
template <Access A, bool Count, class F>
__device__ void load(const ListView& g, const ListOf<A>& list, Offset first, Offset last, F&& f) {
  constexpr Offset kPart = A == Access::packed ? kPackedPiece : 128;
  for (Offset at = first + Offset(threadIdx.x / 32) * kPart; at < last; at += kWarps * kPart) {
    auto part = list;
    part.begin = at, part.end = min(last, at + kPart);
    walk<kLoad<A>, Count>(g, part, f);
  }
}

template <bool Count, bool Each, class Lists, class Table>
__device__ unsigned long long look_up_chunk(const Lists& lists, const TriangleState& s, Table table,
                                            const Index* ids, int size) {
  Look<Each, Lists, Table> look{lists, table, s.of_number};
  look_up<Count>(lists, ids, int(threadIdx.x / 32) * 32, size, kThreads, look);
  return look.all;
}

template <bool Count, bool Each, class Lists>
__global__ void __launch_bounds__(kThreads) count_long(Lists lists, TriangleState s) {
  constexpr Access A = Lists::kAccess;
  const ListView& g = lists.rows();
  __shared__ Index table[kTable], ids[kChunk];
  __shared__ Index claimed;
  for (;;) {
    if (threadIdx.x == 0) claimed = atomicAdd(&s.counts->next, 1);
    __syncthreads();
    const Index task = claimed;
    if (task >= s.counts->chunks) return;
    const ListPiece chunk = s.chunks[task];
    const auto list = list_of<A>(g, chunk.vertex);
    const Offset first = list.begin + Offset(chunk.number) * kChunk, last = min(list.end, first + kChunk);
    const int size = int(last - first);
    load<A, Count>(g, list, first, last, [&](Offset i, Index v) { ids[i - first] = v; });
    const Index number = lists.number(chunk.vertex);
    const bool small = number <= kBitmap;  // all ends are smaller
    const Offset room = small ? list.size() : kHashed;
    unsigned long long found = 0;
    for (Offset from = list.begin; from < list.end; from += room) {
      const int words = small ? int(number / 32 + 1) : kTable;
      for (int i = int(threadIdx.x); i < min(words, kTable); i += kThreads) table[i] = small ? 0 : -1;
      __syncthreads();
      const Offset to = min(list.end, from + room);
      if (small) load<A, Count>(g, list, from, to, [&](Offset, Index v) { Bitmap{table}.insert(v); });
      else load<A, Count>(g, list, from, to, [&](Offset, Index v) { Hash<kTable>{table}.insert(v); });
      __syncthreads();
      found += small ? look_up_chunk<Count, Each>(lists, s, Bitmap{table}, ids, size)
                     : look_up_chunk<Count, Each>(lists, s, Hash<kTable>{table}, ids, size);
      __syncthreads();
    }
    add_up<Each>(s, number, found);
  }
}

template <bool Count, bool Each, class Lists>
void count_all(const Lists& lists, std::int64_t rows, const TriangleState& s, Stream stream) {
  launch(count_short<Count, Each, Lists>, blocks_for(rows), stream, lists, s);
  launch(count_long<Count, Each, Lists>, std::max<std::int64_t>(1, full_grid(stream) / 2), stream, lists, s);
}
template <class Lists>
void count_lists(const Lists& lists, std::int64_t rows, const TriangleState& s, bool count, Stream stream) {
  const bool each = s.of_number != nullptr;
  if (each)
    count ? count_all<true, true>(lists, rows, s, stream) : count_all<false, true>(lists, rows, s, stream);
  else
    count ? count_all<true, false>(lists, rows, s, stream) : count_all<false, false>(lists, rows, s, stream);
}

}  // namespace penstock::gpu
