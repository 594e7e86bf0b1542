// Passes over all entries of a level on a GPU.
#include "penstock/graph/community/device_level_gpu.cuh"
#include "penstock/kernel/structure/entry_steps.hpp"

namespace penstock::community::on_gpu {
namespace {

/// What an entry adds to the degree of v, or, with communities, to what ties v to others of its own.
__device__ inline std::int64_t share_of(const Index* within, Index v, Index u, std::int64_t w) {
  if (within) return u != v && within[u] == within[v] ? w : 0;
  return u == v ? 2 * w : w;
}

template <Access A>
__global__ void __launch_bounds__(kThreads)
    add_up_edges(DeviceLists lists, std::int64_t vertices, const Index* within, std::int64_t* sums) {
  const auto warps = std::int64_t(gridDim.x) * kWarps;
  for (auto v = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; v < vertices; v += warps) {
    unsigned long long sum = 0;
    walk_part<A>(lists, Index(v), 0, lists.size_of(Index(v)), [&](Offset, Index u, std::int64_t w) {
      sum += static_cast<unsigned long long>(share_of(within, Index(v), u, w));
    });
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(kAll, sum, d);
    if ((threadIdx.x & 31) == 0) sums[v] = static_cast<std::int64_t>(sum);
  }
}

constexpr Offset kEmitTile = 1024;  // entries that a warp emits

/// A list that begins in a tile is emitted with it if it is packed; others are cut where the tile ends.
template <Access A>
__global__ void __launch_bounds__(kThreads) emit_entries(DeviceLists lists, EmitTo to) {
  const auto warps = std::int64_t(gridDim.x) * kWarps;
  const auto tiles = (to.end - to.begin + kEmitTile - 1) / kEmitTile;
  for (auto t = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32; t < tiles; t += warps) {
    const Offset begin = to.begin + t * kEmitTile, end = min(to.end, begin + kEmitTile);
    // From the last vertex whose entries begin at `begin` or before on.
    const auto low = to.first + row_of_entry(to.before + to.first, to.last - to.first, begin);
    for (auto i = low; i < to.last && to.before[i] < end; ++i) {
      const Index v = to.order[i], own = to.labels[v];
      const Offset before = to.before[i], size = to.before[i + 1] - before;
      Offset first = 0, last = size;
      if constexpr (A == Access::packed) {
        if (before < begin) continue;
      } else {
        first = max(Offset(0), begin - before), last = min(size, end - before);
      }
      walk_part<A>(lists, v, first, last, [&](Offset k, Index u, std::int64_t w) {
        const Index d = to.labels[u];
        const auto at = before + k - to.begin;
        to.keys[at] = d == own || w == 0 ? no_key(to.bits) : key_of(own, d, to.bits);
        to.weights[at] = w;
      });
    }
  }
}

void add_up(const DeviceLists& lists, std::int64_t vertices, const Index* within, std::int64_t* sums,
            Stream stream) {
  if (vertices == 0) return;
  const UseDevice use(stream.where);
  with_lists(lists, [&]<Access A>() {
    gpu::launch(add_up_edges<A>, std::min(gpu::full_grid(stream) * 4, gpu::blocks_for(vertices * 32)), stream,
                lists, vertices, within, sums);
  });
}

}  // namespace

void add_degrees(const DeviceLists& lists, std::int64_t vertices, std::int64_t* degree, Stream stream) {
  add_up(lists, vertices, nullptr, degree, stream);
}

void add_inner(const DeviceLists& lists, std::int64_t vertices, const Index* within, std::int64_t* inner,
               Stream stream) {
  add_up(lists, vertices, within, inner, stream);
}

void emit(const DeviceLists& lists, const EmitTo& to, Stream stream) {
  if (to.begin == to.end) return;
  const UseDevice use(stream.where);
  const auto tiles = (to.end - to.begin + kEmitTile - 1) / kEmitTile;
  with_lists(lists, [&]<Access A>() {
    gpu::launch(emit_entries<A>, std::min(gpu::full_grid(stream) * 4, gpu::blocks_for(tiles * 32)), stream,
                lists, to);
  });
}

}  // namespace penstock::community::on_gpu
