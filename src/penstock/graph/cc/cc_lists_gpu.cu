// The lists that trees from the sample leave to be read, over the link or in device memory.
//
// What a warp takes is 32 neighbouring vertices, and it walks the lists of those that need it one after another: the
// ballot compacts them in the order of the vertices, which is the order of their addresses, without a list in memory. Lists
// above kLongList entries are cut, and their pieces shared among all warps afterwards.
//
// Why the giant tree's lists need not be read, given every edge in the lists of both of its ends (a symmetric pattern, or
// the lists of A and of A^T both): let v and w be the ends of an edge. If both end up in the giant tree, they are united,
// whatever was read. If v does not, it was outside whenever it was asked, so all of its lists were read, and the edge with
// them; likewise w. Where an edge is in one list alone, the end that has it may be inside and the other not: then no list
// is left out (giant = -1). Over several GPUs v and w may be asked by two of them, each with trees of its own: what is in
// the giant tree of one is in it when all are merged, as all began with the same one.
#include "penstock/graph/cc/cc_forest_gpu.cuh"
#include "penstock/graph/gpu/list_walk_gpu.cuh"

namespace penstock::gpu {
namespace {

/// One tree for a vertex and all that is in its list.
struct Unite {
  Index* parent;
  Index first;
  Index here = 0;

  __device__ void begin(Index v) { here = first + v; }
  __device__ void operator()(Index u) { here = unite(parent, here, u); }
  __device__ void end(Index, bool) {}
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
  List list;
  if (v < g.vertices && !is_inside(s.parent, Index(s.first + v), giant) && !has_whole(g, Index(v)))
    list = list_of(g, Index(v));
  add_read(s.counts, list.size());
  cut_if_long(list, Index(v), s.pieces, &s.counts->pieces);
  walk_each<A, Count>(list, Index(v), g.counts, Unite{s.parent, Index(s.first)});
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads) walk_rest(ListView g, CcState s) {
  walk_pieces<A, Count>(g, s.pieces, s.counts->pieces, Unite{s.parent, Index(s.first)});
}

/// All parents were roots when the round began. A hook that another replaces is made again in a later round: the larger
/// of two roots that an edge joins gets some parent, so the edge's end below it is in `visit` next time (or is looked at
/// anyhow, where visit is null).
template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads) hook_edges(ListView g, CcState s, const Bits* visit) {
  const auto thread = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const auto v = thread / kLanes<A>;
  List list;
  if (v < s.vertices && (!visit || (visit[v >> 5] >> (v & 31) & 1))) list = list_of(g, Index(v));
  walk<A, Count>(list, g.counts, [&](Offset, Index u) {
    const Index a = s.parent[v], b = s.parent[u];
    if (a != b) atomicMin(&s.parent[a > b ? a : b], a > b ? b : a);
  });
}

/// Between a round's hooks and its flattening: whose root has got a parent. Reads alone.
__global__ void __launch_bounds__(kThreads) note_moved(ListView g, CcState s, Bits* moved) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const bool live = v < s.vertices;
  bool has_moved = false;
  if (live) {
    const Index above = s.parent[v];
    has_moved = above != v && ((s.roots[v >> 5] >> (v & 31) & 1) || s.parent[above] != above);
  }
  add_read(s.counts, has_moved ? g.offsets[v + 1] - g.offsets[v] : 0);
  const Bits word = __ballot_sync(kAll, has_moved);
  if ((threadIdx.x & 31) != 0 || !live) return;
  moved[v >> 5] = word;
  if (word) s.counts->changed = 1;
}

/// One bit a vertex, where ranks will be.
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
  with_access(access,
              [&]<Access A>() { count ? link<A, true>(g, s, stream) : link<A, false>(g, s, stream); });
}

void hook_ends(const ListView& g, const CcState& s, bool moved_alone, Access access, bool count,
               Stream stream) {
  const UseDevice use(stream.where);
  const Bits* visit = moved_alone ? moved_of(s) : nullptr;
  with_access(access, [&]<Access A>() {
    count ? hook<A, true>(g, s, visit, stream) : hook<A, false>(g, s, visit, stream);
  });
}

void find_moved(const ListView& g, const CcState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(note_moved, blocks_for(s.vertices), stream, g, s, moved_of(s));
}

}  // namespace penstock::gpu
