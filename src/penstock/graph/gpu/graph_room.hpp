#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "penstock/core/choice.hpp"

// Where a graph's lists and what belongs to them go on a GPU, by sizes alone. GpuGraph carries it out, and predictions ask for it:
// no other code decides.
namespace penstock {

/// Where the edges are. `pinned`: the host's array itself, its pages locked; `host_alloc`: a pinned copy; the managed ones:
/// a copy in managed memory, which never exceeds the free device memory; `device`: a copy on the GPU; `packed`: packed lists on
/// the GPU, and those that the budget has no room for in pinned memory.
enum class EdgePlacement : std::uint8_t {
  pinned,
  host_alloc,
  managed_read_mostly,
  managed_accessed_by,
  device,
  packed
};
inline constexpr Choice kEdgePlacements[] = {
    {"pinned", "the host's array, its pages locked"},
    {"host_alloc", "a pinned copy"},
    {"managed_read_mostly", "a managed copy, whose pages are duplicated where they are read"},
    {"managed_accessed_by", "a managed copy, which the GPU reads over the link"},
    {"device", "a copy on the GPU"},
    {"packed", "packed lists on the GPU, the rest of them pinned"},
};
inline constexpr std::string_view name(EdgePlacement p) { return kEdgePlacements[static_cast<int>(p)].name; }

/// The device memory that traversals take for each vertex, beside its offset. Automatic choices leave room for it.
inline constexpr std::int64_t kVertexBytes = 18;
/// The same of searches without predecessors, and of components. Packed lists that nothing else has asked for leave no more.
inline constexpr std::int64_t kLeanVertexBytes = 13;
/// Whether packed lists that leave so much for each vertex are for searches and components.
constexpr bool is_for_searches(std::int64_t vertex_bytes) {
  return vertex_bytes == kVertexBytes || vertex_bytes == kLeanVertexBytes;
}
/// The same of betweenness (betweenness_cuda.cpp).
inline constexpr std::int64_t kCentralityVertexBytes = 33;
/// And over several GPUs, of each for its own vertices, and for all of the graph (betweenness_parts_cuda.cpp).
inline constexpr std::int64_t kCentralityPartBytes = 25, kCentralitySharedBytes = 25;
/// What packed lists leave besides: counters, and what is allocated in whole pages.
inline constexpr std::int64_t kPackedRoom = 16 << 20;
/// The same of shortest paths from packed lists: distances of 4 or 8 bytes, a list, bitmaps, and predecessors, if a call asks for them; and
/// for the graph, small windows.
constexpr std::int64_t path_vertex_bytes(int distance_bytes, bool predecessors) {
  return distance_bytes + (predecessors ? 9 : 5);
}
inline constexpr std::int64_t kPathRoom = 12 << 20;
/// What searches take for the pieces of long lists: of the frontier's, and of those that probes leave.
constexpr std::int64_t cut_list_bytes(std::int64_t edges) { return edges / 31; }
/// Searches keep at most one byte for so many bytes of edges: the sample, and then the lists of the largest hubs, which take
/// most of the time of their top-down steps.
inline constexpr std::int64_t kKeptShare = 4;
/// The memory that traversals over several GPUs take on each of them for every vertex of the graph: bitmaps, predecessors,
/// trees.
inline constexpr std::int64_t kSharedVertexBytes = 9;

/// The bytes that a graph may take of a GPU: the budget, or where that is 0 what is free less kGpuReserve.
std::int64_t graph_budget(std::int64_t device_memory, std::int64_t free_bytes);
/// Automatic placement: device if offsets, edges, a sample of 4 and the arrays of the vertices fit `budget`, else pinned.
EdgePlacement choose_placement(std::int64_t vertices, std::int64_t edges, std::int64_t budget);
/// The slots of the largest sample that fits into `left` bytes beside the arrays of the vertices and the pieces of long lists,
/// at most `wanted` (a multiple of 4); 0 if none fits.
int choose_sample(std::int64_t vertices, std::int64_t edges, std::int64_t left, int wanted,
                  std::int64_t vertex_bytes = kVertexBytes);

/// What packed lists may take of what is left once their heads are placed: searches come with arrays for each vertex.
std::int64_t packed_list_room(std::int64_t vertices, std::int64_t edges, std::int64_t left,
                              std::int64_t vertex_bytes = kVertexBytes);
/// The same where packed lists of so many bytes, heads aside, do not all fit, for searches and components: a sample of 4 answers for most
/// of those that are read over the link. So there is room for it, unless it would take more than a share of the lists.
inline constexpr std::int64_t kSampleBytes = 16;  // of a sample of 4
std::int64_t packed_near_room(std::int64_t vertices, std::int64_t list_bytes, std::int64_t room);
/// The same where they are for shortest paths alone: path_vertex_bytes(), kPathRoom and 8 bytes for each piece of a cut list are left.
std::int64_t packed_path_room(std::int64_t vertices, std::int64_t edges, std::int64_t left,
                              std::int64_t vertex_bytes);
/// The bytes that a search's cache of the longest lists may take beside its sample, the table of where they are included;
/// 0: there is none.
std::int64_t search_cache_bytes(std::int64_t vertices, std::int64_t edges, std::int64_t sample_bytes,
                                std::int64_t left);

/// What is known of a graph, or of one GPU's part of it, before it is placed. Sizes are in bytes.
struct GraphRoomRequest {
  std::int64_t vertices = 0, edges = 0, budget = 0;
  std::optional<EdgePlacement> placement = {};      // empty: choose_placement
  std::int64_t all_vertices = -1;                   // of the graph that this is a part of; -1: it is no part
  std::int64_t packed_bytes = 0, head_bytes = 0;    // of packed lists: all, and heads with bases
  int sample = 0;                                   // slots that a search asks for
  bool cache = false;                               // whether it keeps the longest lists
  std::int64_t each_vertex = kVertexBytes;          // that the arrays of the algorithm take
  std::int64_t shared_vertex = kSharedVertexBytes;  // and those of a part, for each vertex of the graph
  std::int64_t along_bytes = 0;  // of values along edges, such as lengths, which go where the edges go
  int distance_bytes = 0;        // packed lists are for shortest paths, with distances of 4 or 8 bytes
  bool predecessors = true;      // for which shortest paths have room
};

/// What a graph and a search of it take. `far_bytes` stay in host memory, and come over the link where they are read.
struct GraphRoom {
  EdgePlacement placement = EdgePlacement::pinned;
  std::int64_t offset_bytes = 0;  // or those of heads and bases
  std::int64_t list_bytes = 0, far_bytes = 0;
  std::int64_t sample_bytes = 0, cache_bytes = 0;  // the cache: at most
  std::int64_t vertex_bytes = 0;                   // a search's arrays, its results included
  int sample = 0;                                  // slots

  std::int64_t used() const { return offset_bytes + list_bytes + sample_bytes + cache_bytes + vertex_bytes; }
};
GraphRoom graph_room(const GraphRoomRequest& request);

}  // namespace penstock
