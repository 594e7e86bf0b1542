// Makes trees from the neighbour sample alone, after Afforest (Sutton, Ben-Nun, Barak 2018). But nearly all first links are
// made without atomics or random reads: every vertex takes the smallest vertex of its sample as its parent, in one pass over
// device memory. Vertices that are still roots (a fifth of all, if numbers are random) are then linked with their whole
// samples. So each tree of the first pass meets about four others, which is far more than a giant tree needs to appear.
#include "penstock/graph/cc/cc_forest_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kDraws = 1024;
// Attempts to draw a vertex that is no root, because roots are mostly alone in their trees.
constexpr int kTries = 16;

__device__ std::int64_t vertex_of_thread() { return std::int64_t(blockIdx.x) * kThreads + threadIdx.x; }

/// The first neighbour in the packed list of vertex i, -1 if there is none: as it was kept, or kept from now on.
template <bool Count>
__device__ Index first_packed(const ListView& g, const CcState& s, std::int64_t i) {
  const auto k = i - s.links_first;
  const bool kept = k >= 0 && k < s.links_count;
  if (kept && s.links_made) return s.links[k];
  Index first = -1;
  walk_first<Count>(g, packed_list(g.packed, Index(i)), 1, [&](Index u) { return first = u, true; });
  if (kept) s.links[k] = first;
  return first;
}

template <bool Count>
__global__ void __launch_bounds__(kThreads) hook(ListView g, CcState s) {
  const auto i = vertex_of_thread(), v = s.first + i;
  const bool live = i < g.vertices;
  Index low = Index(v);
  if (g.packed.heads && g.sample_size == 0) {  // lists ascend: the first neighbour is the smallest one
    const Index u = live ? first_packed<Count>(g, s, i) : -1;
    low = u >= 0 && u < low ? u : low;
  } else {
    first_neighbours<Count>(g, i, live, false, [&](Index u) { low = u < low ? u : low; });
  }
  if (live) s.parent[v] = low;
}

__global__ void __launch_bounds__(kThreads) plant_all(CcState s) {
  const auto v = vertex_of_thread();
  if (v < s.vertices) s.parent[v] = Index(v);
}

/// Puts every vertex under its root. Blocks start in the order of the vertices, and parents are smaller, so the parents that a
/// vertex meets are mostly done, and paths are short.
__global__ void __launch_bounds__(kThreads) flatten_all(CcState s) {
  const auto v = vertex_of_thread();
  if (v >= s.vertices) return;
  const Index old = s.parent[v], root = root_of(s.parent, Index(v));
  if (root != old) s.parent[v] = root;
}

template <bool Count>
__global__ void __launch_bounds__(kThreads) link_of_roots(ListView g, CcState s) {
  const auto i = vertex_of_thread(), v = s.first + i;
  bool root = i < g.vertices && s.parent[v] == v;
  Index here = Index(v);
  if (const auto k = i - s.links_first; s.links_made && k >= 0 && k < s.links_count) {
    if (const Index u = root ? s.links[k] : -1; u >= 0) unite(s.parent, here, u);
    root = false;
  }
  first_neighbours<Count>(g, i, root, false, [&](Index u) { here = unite(s.parent, here, u); });
}

template <bool Count>
__global__ void __launch_bounds__(kThreads) link_of_outside(ListView g, CcState s) {
  const auto i = vertex_of_thread(), v = s.first + i;
  const bool outside = i < g.vertices && s.parent[v] != s.counts->giant;
  Index here = Index(v);
  first_neighbours<Count>(g, i, outside, true, [&](Index u) { here = unite(s.parent, here, u); });
}

/// One block finds the giant tree: of the roots of vertices that are drawn by a fixed rule, the most frequent one, or the
/// smaller one of two.
__global__ void __launch_bounds__(kThreads) draw_giant(CcState s) {
  __shared__ Index roots[kDraws];
  __shared__ unsigned long long best;
  for (int i = int(threadIdx.x); i < kDraws; i += kThreads) {
    unsigned long long state = (i + 1) * 0x9E3779B97F4A7C15ull;
    roots[i] = -1;
    for (int t = 0; t < kTries && roots[i] < 0; ++t) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      const auto v = std::int64_t((state >> 20) % static_cast<unsigned long long>(s.vertices));
      if (const Index above = s.parent[v]; above != v) roots[i] = above;
    }
  }
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  for (int i = int(threadIdx.x); i < kDraws; i += kThreads) {
    if (roots[i] < 0) continue;
    unsigned same = 0;
    for (int k = 0; k < kDraws; ++k) same += roots[k] == roots[i];
    atomicMax(&best, static_cast<unsigned long long>(same) << 32 | (kNoVertex - std::uint32_t(roots[i])));
  }
  __syncthreads();
  if (threadIdx.x == 0) s.counts->giant = best == 0 ? -1 : Index(kNoVertex - std::uint32_t(best));
}

/// Puts every vertex under its root, sets a bit for each root, and counts the roots in each word.
__global__ void __launch_bounds__(kThreads) mark_roots(CcState s) {
  const auto v = vertex_of_thread();
  const bool live = v < s.vertices;
  bool root = false;
  if (live) {
    const Index old = s.parent[v], above = root_of(s.parent, Index(v));
    if (above != old) s.parent[v] = above;
    root = above == v;
  }
  const Bits word = __ballot_sync(kAll, root);
  if (live && (threadIdx.x & 31) == 0) {
    s.roots[v / 32] = word;
    s.ranks[v / 32] = __popc(word);
  }
}

__global__ void __launch_bounds__(kThreads) rank_roots(CcState s) {
  const auto v = vertex_of_thread();
  if (v >= s.vertices) return;
  const Index root = s.parent[v];
  s.parent[v] = s.ranks[root >> 5] + __popc(s.roots[root >> 5] & ((1u << (root & 31)) - 1));
}

}  // namespace

void hook_first(const ListView& g, const CcState& s, bool count, Stream stream) {
  const UseDevice use(stream.where);
  launch(count ? hook<true> : hook<false>, blocks_for(g.vertices), stream, g, s);
}

void plant(const CcState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(plant_all, blocks_for(s.vertices), stream, s);
}

void flatten(const CcState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(flatten_all, blocks_for(s.vertices), stream, s);
}

void link_roots(const ListView& g, const CcState& s, bool count, Stream stream) {
  const UseDevice use(stream.where);
  launch(count ? link_of_roots<true> : link_of_roots<false>, blocks_for(g.vertices), stream, g, s);
}

void find_giant(const CcState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(draw_giant, 1, stream, s);
}

void link_sampled(const ListView& g, const CcState& s, bool count, Stream stream) {
  const UseDevice use(stream.where);
  launch(count ? link_of_outside<true> : link_of_outside<false>, blocks_for(g.vertices), stream, g, s);
}

void number_trees(const CcState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(mark_roots, blocks_for(s.vertices), stream, s);
  scan(s.ranks, bit_words(s.vertices), &s.counts->components, stream);
  launch(rank_roots, blocks_for(s.vertices), stream, s);
}

}  // namespace penstock::gpu
