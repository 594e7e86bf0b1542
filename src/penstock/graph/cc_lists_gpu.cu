// The lists that trees from the sample leave to be read, over the link or in device memory.
//
// What a warp takes is 32 neighbouring vertices, and it walks the lists of those that need it one after another: the
// ballot compacts them in the order of the vertices, which is the order of their addresses, without a list in memory. Lists
// above kCcLong entries are cut, and their pieces shared among all warps afterwards.
//
// Why the giant tree's lists need not be read, given every edge in the lists of both of its ends (a symmetric pattern, or
// the lists of A and of A^T both): let v and w be the ends of an edge. If both end up in the giant tree, they are united,
// whatever was read. If v does not, it was outside whenever it was asked, so all of its lists were read, and the edge with
// them; likewise w. Where an edge is in one list alone, the end that has it may be inside and the other not: then no list
// is left out (giant = -1).
#include "penstock/graph/cc_forest_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr std::int64_t kBlocks = 132 * 8;  // as many as reside at once on 132 multiprocessors

/// The list that another lane holds; all lanes of a warp call.
__device__ List list_from(const List& mine, int owner) {
  const auto ids = __shfl_sync(kAll, reinterpret_cast<unsigned long long>(mine.ids), owner);
  return {reinterpret_cast<const Index*>(ids), __shfl_sync(kAll, mine.begin, owner),
          __shfl_sync(kAll, mine.end, owner), __shfl_sync(kAll, int(mine.cached), owner) != 0};
}

/// f(v, u) over lists of vertices v, one of each lane, by the warp.
template <Access A, bool Count, class F>
__device__ void walk_each(const List& list, Index v, LinkCounts* counts, F&& f) {
  if constexpr (A == Access::strided) {
    walk<A, Count>(list, counts, [&](Offset, Index u) { f(v, u); });
  } else {
    for (unsigned left = __ballot_sync(kAll, list.size() > 0); left != 0; left &= left - 1) {
      const int owner = __ffs(int(left)) - 1;
      const Index from = __shfl_sync(kAll, v, owner);
      walk<A, Count>(list_from(list, owner), counts, [&](Offset, Index u) { f(from, u); });
    }
  }
}

__device__ void add_read(CcCounts* counts, Offset entries) {
  const unsigned lists = __popc(__ballot_sync(kAll, entries > 0));
  if (lists == 0) return;
#pragma unroll
  for (int d = 16; d > 0; d /= 2) entries += __shfl_down_sync(kAll, entries, d);
  if ((threadIdx.x & 31) != 0) return;
  atomicAdd(&counts->lists, static_cast<unsigned long long>(lists));
  atomicAdd(&counts->entries, static_cast<unsigned long long>(entries));
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads) walk_outside(ListView g, CcState s) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const Index giant = s.counts->giant;
  List list;
  if (v < s.vertices && !is_inside(s.parent, Index(v), giant) && !has_whole(g, Index(v)))
    list = list_of(g, Index(v));
  add_read(s.counts, list.size());
  if (list.size() > kCcLong) {
    const Index pieces = cc_pieces(list.begin, list.end);
    const Index at = atomicAdd(&s.counts->pieces, pieces);
    for (Index i = 0; i < pieces; ++i) s.pieces[at + i] = {Index(v), i};
    list.end = list.begin;
  }
  walk_each<A, Count>(list, Index(v), g.counts, [&](Index from, Index u) { unite(s.parent, from, u); });
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads) walk_pieces(ListView g, CcState s) {
  const Index pieces = s.counts->pieces;
  const auto warps = std::int64_t(gridDim.x) * (kThreads / 32);
  for (auto i = std::int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; i < pieces; i += warps) {
    const CcPiece piece = s.pieces[i];
    List list = list_of(g, piece.vertex);
    const auto [begin, end] = cc_piece(list.begin, list.end, piece.number);
    list.begin = begin, list.end = end;
    if constexpr (A == Access::strided) {  // a thread each: a part of the piece
      const Offset part = (end - begin + 31) / 32;
      list.begin = min(end, begin + part * (threadIdx.x & 31));
      list.end = min(end, list.begin + part);
    }
    Index here = piece.vertex;
    walk<A, Count>(list, g.counts, [&](Offset, Index u) { here = unite(s.parent, here, u); });
  }
}

/// All parents were roots when the round began. A hook that another replaces is made again in a later round, as every
/// edge is looked at in every round until no two ends differ.
template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads) hook_edges(ListView g, CcState s) {
  const auto thread = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto v = thread / kLanes<A>;
  List list;
  if (v < s.vertices) list = list_of(g, Index(v));
  bool changed = false;
  walk<A, Count>(list, g.counts, [&](Offset, Index u) {
    const Index a = s.parent[v], b = s.parent[u];
    if (a == b) return;
    changed = true;
    atomicMin(&s.parent[a > b ? a : b], a > b ? b : a);
  });
  if (changed) s.counts->changed = 1;
}

template <Access A, bool Count>
void link(const ListView& g, const CcState& s, Stream stream) {
  launch(walk_outside<A, Count>, blocks_for(s.vertices), stream, g, s);
  launch(walk_pieces<A, Count>, kBlocks, stream, g, s);
}

template <Access A, bool Count>
void hook(const ListView& g, const CcState& s, Stream stream) {
  launch(hook_edges<A, Count>, blocks_for(s.vertices * kLanes<A>), stream, g, s);
}

}  // namespace

void link_lists(const ListView& g, const CcState& s, Access access, bool count, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(&s.counts->pieces, 0, sizeof(Index), stream);
  with_access(access,
              [&]<Access A>() { count ? link<A, true>(g, s, stream) : link<A, false>(g, s, stream); });
}

void hook_all(const ListView& g, const CcState& s, Access access, bool count, Stream stream) {
  const UseDevice use(stream.where);
  with_access(access,
              [&]<Access A>() { count ? hook<A, true>(g, s, stream) : hook<A, false>(g, s, stream); });
}

}  // namespace penstock::gpu
