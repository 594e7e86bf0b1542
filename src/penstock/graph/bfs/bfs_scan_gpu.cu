// EMOGI's breadth-first search (min-2020, section 4), the baseline of the measurements. In every level a warp (a thread, if
// strided) looks at every vertex, and walks the lists of the vertices of that level. It has no frontier and no direction.
#include "penstock/graph/bfs/bfs_gpu_state.hpp"
#include "penstock/graph/gpu/lists_gpu.cuh"

namespace penstock::gpu {
namespace {

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    scan_vertices(ListView g, Index* levels, Index depth, Index* changed) {
  const auto v = (std::int64_t(blockIdx.x) * kThreads + threadIdx.x) / kLanes<A>;
  ListOf<A> list;
  if (v < g.vertices && levels[v] == depth) list = list_of<A>(g, Index(v));
  bool any = false;
  walk<A, Count>(g, list, [&](Offset, Index u) {
    if (levels[u] != kUnreached) return;
    levels[u] = depth + 1;  // all threads that write it write the same number
    any = true;
  });
  if (any) *changed = 1;
}

}  // namespace

void scan_level(const ListView& g, Index* levels, Index depth, Index* changed, Access access, bool count,
                Stream stream) {
  const UseDevice use(stream.where);
  with_any_access(access, [&]<Access A>() {
    const auto blocks = blocks_for(g.vertices * kLanes<A>);
    launch(count ? scan_vertices<A, true> : scan_vertices<A, false>, blocks, stream, g, levels, depth,
           changed);
  });
}

}  // namespace penstock::gpu
