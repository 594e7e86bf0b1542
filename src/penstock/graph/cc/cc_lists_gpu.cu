// Reads the lists that are still needed after trees have been made from the sample, over the link or in device memory.
//
// A warp takes 32 neighbouring vertices, and walks the lists of those that need it one after the other: a ballot compacts them
// in the order of the vertices, which is the order of their addresses, without a list in memory. Lists above kLongList entries
// are cut, and all warps share the pieces afterwards.
//
// The lists of vertices in the giant tree need not be read, if every edge is in the lists of both of its ends (the pattern is
// symmetric, or there are the lists of A and of A^T). Proof: let v and w be the ends of an edge. If both are in the giant tree
// at the end, they are united, whatever was read. If v is not, it was outside whenever it was asked; so all of its lists were
// read, and the edge with them. The same holds for w. If an edge is in one list only, the end that has it may be inside and
// the other end outside; then no list is left out (giant = -1). Over several GPUs, v and w may be asked by two of them, each
// with trees of its own. A vertex in the giant tree of one GPU is in the giant tree when all are merged, because all began
// with the same one.
#include "penstock/graph/cc/cc_forest_gpu.cuh"
#include "penstock/graph/gpu/list_walk_gpu.cuh"

namespace penstock::gpu {
namespace {

/// Joins the trees of a vertex and of all vertices in its list.
struct Unite {
  Index* parent;
  Index first;
  Index here = 0;

  __device__ void begin(Index v) { here = first + v; }
  __device__ void operator()(Index u) { here = unite(parent, here, u); }
  __device__ void end(Index, int) {}
};

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
  ListOf<A> list;
  if (v < g.vertices && !is_inside(s.parent, Index(s.first + v), giant) && !has_whole(g, Index(v)))
    list = list_of<A>(g, Index(v));
  add_read(s.counts, list.size());
  cut_if_long(list, Index(v), s.pieces, &s.counts->pieces);
  walk_each<A, Count>(g, list, Index(v), Unite{s.parent, Index(s.first)});
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads) walk_rest(ListView g, CcState s) {
  walk_pieces<A, Count>(g, s.pieces, s.counts->pieces, Unite{s.parent, Index(s.first)});
}

/// All parents were roots when the round began. A hook that another one replaces is made again in a later round: the larger of
/// the two roots that an edge joins gets some parent, so the end of the edge below that root is in `visit` in the next round
/// (if `visit` is null, all vertices are looked at anyway).
template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads) hook_edges(ListView g, CcState s, const Bits* visit) {
  const auto thread = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto v = thread / kLanes<A>;
  ListOf<A> list;
  if (v < s.vertices && (!visit || (visit[v >> 5] >> (v & 31) & 1))) list = list_of<A>(g, Index(v));
  walk<A, Count>(g, list, [&](Offset, Index u) {
    const Index a = s.parent[v], b = s.parent[u];
    if (a != b) atomicMin(&s.parent[a > b ? a : b], a > b ? b : a);
  });
}

/// Marks the vertices whose root has got a parent, after the hooks of a round and before its flattening. It only reads trees.
__global__ void __launch_bounds__(kThreads) note_moved(ListView g, CcState s, Bits* moved) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const bool live = v < s.vertices;
  bool has_moved = false;
  if (live) {
    const Index above = s.parent[v];
    has_moved = above != v && ((s.roots[v >> 5] >> (v & 31) & 1) || s.parent[above] != above);
  }
  add_read(s.counts, has_moved ? degree_of(g, Index(v)) : 0);
  const Bits word = __ballot_sync(kAll, has_moved);
  if ((threadIdx.x & 31) != 0 || !live) return;
  moved[v >> 5] = word;
  if (word) s.counts->changed = 1;
}

/// A bit for each vertex, in the memory that ranks will take later.
Bits* moved_of(const CcState& s) { return reinterpret_cast<Bits*>(s.ranks); }

template <Access A, bool Count>
void link(const ListView& g, const CcState& s, Stream stream) {
  launch(walk_outside<A, Count>, blocks_for(g.vertices), stream, g, s);
  launch(walk_rest<A, Count>, full_grid(stream), stream, g, s);
}

template <Access A, bool Count>
void hook(const ListView& g, const CcState& s, const Bits* visit, Stream stream) {
  launch(hook_edges<A, Count>, blocks_for(s.vertices * kLanes<A>), stream, g, s, visit);
}

}  // namespace

void link_lists(const ListView& g, const CcState& s, Access access, bool count, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(&s.counts->pieces, 0, sizeof(Index), stream);
  with_any_access(access,
                  [&]<Access A>() { count ? link<A, true>(g, s, stream) : link<A, false>(g, s, stream); });
}

void hook_ends(const ListView& g, const CcState& s, bool moved_alone, Access access, bool count,
               Stream stream) {
  const UseDevice use(stream.where);
  const Bits* visit = moved_alone ? moved_of(s) : nullptr;
  with_any_access(access, [&]<Access A>() {
    count ? hook<A, true>(g, s, visit, stream) : hook<A, false>(g, s, visit, stream);
  });
}

void find_moved(const ListView& g, const CcState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(note_moved, blocks_for(s.vertices), stream, g, s, moved_of(s));
}

}  // namespace penstock::gpu
