#pragma once
#include "penstock/core/device.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"

// The kernels behind GpuGraph, all on the stream of a GPU.
namespace penstock::gpu {

/// Makes the sample. `all_offsets` has the offsets of all vertices of the graph, on the device, for the degrees of neighbours;
/// it is read for SampleOf::highest_degree only.
void build_sample(const ListView& g, const Offset* all_offsets, SampleOf kind, std::uint32_t* sample,
                  int size, Stream stream);

/// Degrees are put into buckets, eight for each power of two. count_degrees() counts the edges that the lists of each bucket
/// hold.
inline constexpr int kDegreeBuckets = 8 * 64;
void count_degrees(const ListView& g, unsigned long long* edges, Stream stream);

/// Which lists are cached: all with degrees above those of a bucket (below them, if `shortest`), and of that bucket the lists
/// of vertices before `before`.
struct HotLists {
  int bucket = kDegreeBuckets;
  Index before = 0;
  bool shortest = false;
};
/// sizes[v] = v's degree if its list is in `hot`, or, with `only`, if it is in bucket hot.bucket; otherwise 0.
void hot_sizes(const ListView& g, HotLists hot, bool only, Offset* sizes, Stream stream);
/// *vertex = the first vertex of a bucket whose list ends beyond `room`; `before` has the sums of the sizes before each
/// vertex. If there is none, *vertex is unchanged.
void first_beyond(const ListView& g, int bucket, const Offset* before, Offset room, Index* vertex,
                  Stream stream);
/// Replaces the sums of sizes in list_begin by what ListView::list_begin needs, and fills the cache.
void fill_cache(const ListView& g, HotLists hot, Offset* list_begin, Index* cache, Stream stream);
/// Copies the entries of cached lists out of an array with an entry for each edge. Entries have 1, 2, 4 or 8 bytes.
void copy_along(const ListView& g, const void* from, void* to, int entry_bytes, Stream stream);

}  // namespace penstock::gpu
