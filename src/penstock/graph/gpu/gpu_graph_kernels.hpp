#pragma once
#include "penstock/core/device.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"

// The kernels behind GpuGraph, all on the stream of a GPU.
namespace penstock::gpu {

/// `all_offsets`: of all vertices of the graph, on the device, for the degrees of neighbours; read for highest_degree alone.
void build_sample(const ListView& g, const Offset* all_offsets, SampleOf kind, std::uint32_t* sample,
                  int size, Stream stream);

/// Degrees in buckets of an eighth of an octave: how many edges the lists of each bucket hold.
inline constexpr int kDegreeBuckets = 8 * 64;
void count_degrees(const ListView& g, unsigned long long* edges, Stream stream);

/// Which lists are cached: of degrees above a bucket (below it, if `shortest`), and of that bucket those before a vertex.
struct HotLists {
  int bucket = kDegreeBuckets;
  Index before = 0;
  bool shortest = false;
};
/// sizes[v] = v's degree where `hot` or, if `only`, where it is in bucket hot.bucket; else 0.
void hot_sizes(const ListView& g, HotLists hot, bool only, Offset* sizes, Stream stream);
/// *vertex = the first of bucket `bucket` whose list ends beyond `room`, given sums of the sizes before each; else unchanged.
void first_beyond(const ListView& g, int bucket, const Offset* before, Offset room, Index* vertex,
                  Stream stream);
/// list_begin: from sums of sizes to what ListView says. Fills the cache.
void fill_cache(const ListView& g, HotLists hot, Offset* list_begin, Index* cache, Stream stream);
/// What lies beside the cached lists, from an array along the edges; entries of 1, 2, 4 or 8 bytes.
void copy_along(const ListView& g, const void* from, void* to, int entry_bytes, Stream stream);

}  // namespace penstock::gpu
