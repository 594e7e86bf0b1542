// Decodes packed lists and keeps what points to smaller numbers. Short lists are decoded by eight lanes, four at a time, others by
// warps, which count what they keep by ballots.
#include "penstock/graph/gpu/lists_gpu.cuh"
#include "penstock/graph/triangles/triangles_facts_gpu.cuh"
#include "penstock/graph/triangles/triangles_packed_gpu.hpp"

namespace penstock::gpu {
namespace {

/// Calls take.operator()<L>(row, list, group) for the rows from the warp's first one on; `list` is that of the row's vertex.
template <class F>
__device__ void take_rows(const ListView& g, const Index* order, std::int64_t first, std::int64_t last,
                          F&& take) {
  const auto row = first + std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int lane = int(threadIdx.x & 31), eight = lane & 24;
  const auto begin = row - lane;
  const unsigned group = 0xffu << eight;
  PackedList list;
  if (row < last) list = packed_list(g.packed, order ? order[row] : Index(row));
  const bool is_short = list.size() > 0 && list.size() <= kPackedShort;
  const unsigned shorts = __ballot_sync(kAll, is_short);
  const unsigned longs = __ballot_sync(kAll, list.size() > 0 && !is_short);
  for (unsigned left = shorts >> eight & 0xffu; left != 0; left &= left - 1) {
    const int owner = eight + __ffs(int(left)) - 1;
    const auto own = list_from(list, owner, group);
    take.template operator()<8>(begin + owner, own, group);
  }
  __syncwarp();
  for (unsigned left = longs; left != 0; left &= left - 1) {
    const int owner = __ffs(int(left)) - 1;
    const auto own = list_from(list, owner);
    take.template operator()<32>(begin + owner, own, kAll);
  }
}

/// Calls keep(at, end) for each end of the list with a number below `own`, where `at` counts them, and returns how many there are.
/// Without `number`, ends ascend, and the walk stops at the first one that is not kept.
template <int L, class F>
__device__ Index keep_smaller(const ListView& g, const Index* number, Index own, const PackedList& list,
                              unsigned group, F&& keep) {
  const unsigned before = (1u << (threadIdx.x & 31)) - 1;
  Index kept = 0;
  decode<L, false>(g, list, group, [&](Offset, Index u, bool mine) {
    const Index to = mine && number ? number[u] : u;
    const bool wanted = mine && to < own;
    const unsigned lanes = __ballot_sync(group, wanted);
    if (wanted) keep(kept + Index(__popc(lanes & before)), to);
    kept += Index(__popc(lanes));
    return !number && lanes != group;
  });
  return kept;
}

__global__ void __launch_bounds__(kThreads) count_smaller(ListView g, const Index* number, Index* lengths) {
  take_rows(g, nullptr, 0, g.vertices, [&]<int L>(std::int64_t v, const PackedList& list, unsigned group) {
    const Index own = number ? number[v] : Index(v);
    const Index kept = keep_smaller<L>(g, number, own, list, group, [](Index, Index) {});
    if (leads(L)) lengths[own] = kept;
  });
}

template <bool Keys>
__global__ void __launch_bounds__(kThreads)
    collect(ListView g, OrientRange r, std::uint64_t* keys, Index* ends) {
  const Offset base = r.offsets[r.first];
  take_rows(g, r.order, r.first, r.last,
            [&]<int L>(std::int64_t row, const PackedList& list, unsigned group) {
              const Offset begin = r.offsets[row] - base;
              [[maybe_unused]] const auto high = std::uint64_t(row - r.first) << r.bits;
              keep_smaller<L>(g, r.number, Index(row), list, group, [&](Index at, Index end) {
                if constexpr (Keys) keys[begin + at] = high | std::uint64_t(end);
                else ends[begin + at] = end;
              });
            });
}

__global__ void __launch_bounds__(kThreads)
    measure_lists(ListView g, const Index* below, PatternFacts* facts) {
  SeenOfLists seen;
  for (auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; v < g.vertices;
       v += std::int64_t(gridDim.x) * kThreads) {
    seen.add(below[v], degree_of(g, Index(v)));
  }
  seen.add_to(facts);
}

__global__ void __launch_bounds__(kThreads)
    keys_of_degrees(ListView g, unsigned long long most, int bits, std::uint64_t* keys) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= g.vertices) return;
  keys[v] = (std::uint64_t(most) - std::uint64_t(degree_of(g, Index(v)))) << bits | std::uint64_t(v);
}

/// The low bits of the keys.
__global__ void __launch_bounds__(kThreads)
    take_low(const std::uint64_t* keys, std::int64_t count, int bits, Index* low) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) low[i] = Index(keys[i] & ((std::uint64_t{1} << bits) - 1));
}

}  // namespace

void count_oriented(const ListView& g, const Index* number, Index* lengths, Stream stream) {
  fill_async(lengths, 0, 4 * g.vertices, stream);  // empty lists have no turn
  launch(count_smaller, blocks_for(g.vertices), stream, g, number, lengths);
}

void measure_packed(const ListView& g, const Index* below, PatternFacts* facts, Stream stream) {
  launch(measure_lists, std::min(full_grid(stream), blocks_for(g.vertices)), stream, g, below, facts);
}

void packed_degree_keys(const ListView& g, unsigned long long most, int bits, std::uint64_t* keys,
                        Stream stream) {
  launch(keys_of_degrees, blocks_for(g.vertices), stream, g, most, bits, keys);
}

void write_order(const std::uint64_t* keys, std::int64_t vertices, int bits, Index* order, Stream stream) {
  launch(take_low, blocks_for(vertices), stream, keys, vertices, bits, order);
}

void collect_keys(const ListView& g, const OrientRange& range, std::uint64_t* keys, Stream stream) {
  launch(collect<true>, blocks_for(range.last - range.first), stream, g, range, keys, nullptr);
}

void collect_ends(const ListView& g, const OrientRange& range, Index* ends, Stream stream) {
  launch(collect<false>, blocks_for(range.last - range.first), stream, g, range, nullptr, ends);
}

void ends_of_keys(const std::uint64_t* keys, std::int64_t count, int bits, Index* ends, Stream stream) {
  launch(take_low, blocks_for(count), stream, keys, count, bits, ends);
}

}  // namespace penstock::gpu
