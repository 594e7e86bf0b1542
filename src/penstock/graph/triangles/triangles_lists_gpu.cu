// Counts triangles over oriented edges (see triangles_cpu.cpp): each is found at its vertex of largest number. The ends of
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
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kWarpTable = 4 * kShortList;

/// The list whose ends go to a table is always read by whole warps.
template <Access A>
inline constexpr Access kLoad = A == Access::strided ? Access::merged : A;

/// Looks lists up in a table. `all` counts what this lane found.
template <bool Each, class Table>
struct Look {
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
      if (leads(lanes) && sum > 0) atomicAdd(&of_number[v], static_cast<unsigned long long>(sum));
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
template <Access A, bool Count, class L>
__device__ void look_up(const ListView& g, const Index* ids, int first, int last, int step, L& look) {
  for (int base = first; base < last; base += step) {
    const int at = base + int(threadIdx.x & 31);
    const Index v = at < last ? ids[at] : 0;
    ListOf<A> list;
    if (at < last) list = list_of<A>(g, v);
    walk_each<A, Count>(g, list, v, look);
  }
}

/// What this lane finds of the triangles whose vertex of largest number has the ends ids[0, size), which ascend.
template <Access A, bool Count, bool Each>
__device__ unsigned find_short(const ListView& g, const TriangleState& s, WarpHash table, SideBySide& row,
                               const Index* ids, int size) {
  if constexpr (A == Access::direct) {
    // The ends of the smallest number are smaller than all in the table.
    return look_up_flat<Count, Each>(
        g, s.of_number, row, ids, 1, size, [&](Index w) { return table.has(w); },
        [&](const List& list, Index v) {
          Look<Each, WarpHash> look{table, s.of_number};
          walk_each<A, Count>(g, list, v, look);
          return unsigned(look.all);
        });
  } else {
    Look<Each, WarpHash> look{table, s.of_number};
    look_up<A, Count>(g, ids, 0, size, 32, look);
    return unsigned(look.all);
  }
}

template <Access A, bool Count, bool Each>
__global__ void __launch_bounds__(kThreads) count_short(ListView g, TriangleState s) {
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
    const Index u = __shfl_sync(kAll, number, owner);
    const WarpHash table(slots[warp], int(list.size()));
    table.clear();
    __syncwarp();
    walk<kLoad<A>, Count>(g, list, [&](Offset i, Index v) {
      ids[warp][i - list.begin] = v;
      table.insert(v);
    });
    __syncwarp();
    const unsigned some = find_short<A, Count, Each>(g, s, table, rows[warp], ids[warp], int(list.size()));
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

/// number[v] of each vertex v, out of those of the numbers.
__global__ void __launch_bounds__(kThreads)
    gather_counts(const unsigned long long* of_number, const Index* number, std::int64_t vertices,
                  unsigned long long* of_vertex) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v < vertices) of_vertex[v] = of_number[number[v]];
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

template <Access A, bool Count, bool Each, class Table>
__device__ unsigned long long look_up_chunk(const ListView& g, const TriangleState& s, Table table,
                                            const Index* ids, int size) {
  Look<Each, Table> look{table, s.of_number};
  look_up<A, Count>(g, ids, int(threadIdx.x / 32) * 32, size, kThreads, look);
  return look.all;
}

template <Access A, bool Count, bool Each>
__global__ void __launch_bounds__(kThreads) count_long(ListView g, TriangleState s) {
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
    const bool small = chunk.vertex <= kBitmap;  // all ends are smaller than the vertex
    const Offset room = small ? list.size() : kHashed;
    unsigned long long found = 0;
    for (Offset from = list.begin; from < list.end; from += room) {
      const int words = small ? int(chunk.vertex / 32 + 1) : kTable;
      for (int i = int(threadIdx.x); i < min(words, kTable); i += kThreads) table[i] = small ? 0 : -1;
      __syncthreads();
      const Offset to = min(list.end, from + room);
      if (small) load<A, Count>(g, list, from, to, [&](Offset, Index v) { Bitmap{table}.insert(v); });
      else load<A, Count>(g, list, from, to, [&](Offset, Index v) { Hash<kTable>{table}.insert(v); });
      __syncthreads();
      found += small ? look_up_chunk<A, Count, Each>(g, s, Bitmap{table}, ids, size)
                     : look_up_chunk<A, Count, Each>(g, s, Hash<kTable>{table}, ids, size);
      __syncthreads();
    }
    add_up<Each>(s, chunk.vertex, found);
  }
}

template <Access A, bool Count, bool Each>
void count_all(const ListView& g, const TriangleState& s, Stream stream) {
  launch(count_short<A, Count, Each>, blocks_for(g.vertices), stream, g, s);
  launch(count_long<A, Count, Each>, std::max<std::int64_t>(1, full_grid(stream) / 2), stream, g, s);
}

}  // namespace

void count_triangles(const ListView& g, const TriangleState& s, Access access, bool count, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  with_any_access(access, [&]<Access A>() {
    const bool each = s.of_number != nullptr;
    if (each) count ? count_all<A, true, true>(g, s, stream) : count_all<A, false, true>(g, s, stream);
    else count ? count_all<A, true, false>(g, s, stream) : count_all<A, false, false>(g, s, stream);
  });
}

void counts_of_vertices(const unsigned long long* of_number, const Index* number, std::int64_t vertices,
                        unsigned long long* of_vertex, Stream stream) {
  const UseDevice use(stream.where);
  if (vertices > 0)
    launch(gather_counts, blocks_for(vertices), stream, of_number, number, vertices, of_vertex);
}

}  // namespace penstock::gpu
