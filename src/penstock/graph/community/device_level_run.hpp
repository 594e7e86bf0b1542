#pragma once
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/config.hpp"
#include "penstock/graph/community/community.hpp"
#include "penstock/graph/community/device_level.hpp"

// Levels on a device, as hosts drive them. The CPU is a device, too. All is in the order of one stream.
namespace penstock::community {

/// Calls f of the device, on_gpu::f or on_cpu::f.
#define PENSTOCK_ON(stream, f, ...)                               \
  do {                                                            \
    if (!(stream).where.is_gpu()) on_cpu::f(__VA_ARGS__, stream); \
    else if constexpr (have_cuda) on_gpu::f(__VA_ARGS__, stream); \
  } while (false)

/// Memory for as long as it is held, in the order of the stream.
template <class T>
Array<T> held(std::int64_t count, Stream stream) {
  auto owner = allocate_scratch((count > 0 ? count : 1) * static_cast<std::int64_t>(sizeof(T)), stream);
  return {static_cast<T*>(owner.get()), count, device_place(stream.where), owner};
}

/// What a level may still take of a device's memory.
struct DeviceRoom {
  std::int64_t bytes = 0;
};

struct DeviceLevel {
  DeviceLists lists;
  std::int64_t vertices = 0;
  Offset entries = 0;
  Array<std::int64_t> degree;
  // Of a level that owns its lists.
  Array<Offset> indptr;
  Array<Index> indices;
  Array<std::int64_t> weights;
  std::int64_t outward = 0;  // the weight of all entries

  /// What it holds of the device's memory.
  std::int64_t device_bytes() const {
    const auto of = [](const auto& some) { return some.place.memory == Memory::device ? some.bytes() : 0; };
    return of(indptr) + of(indices) + of(weights);
  }
};

// Of keys and weights twice, and the places of heads; beside them, what a sort takes. Chunks and tables for long lists are of this
// size where no more memory is left.
inline constexpr std::int64_t kChunkEntryBytes = 44;
inline constexpr Offset kLeastChunk = 1 << 12, kLeastArena = 1 << 12;

/// Bytes that moving takes for each vertex, joining not included, and what it takes at least.
inline constexpr std::int64_t kMoveVertexBytes = 64;
/// The same of Leiden's method: beside them are the communities to refine, what ties parts to these, and the best ones so far.
inline constexpr std::int64_t kRefineVertexBytes = 96;
inline constexpr std::int64_t kLeastBytes = 256 << 10;
static_assert(kLeastBytes >= kLeastChunk * kChunkEntryBytes + kLeastArena * 16);

struct DevicePasses {
  int most = 1;
  double tolerance = 0;  // in units: a pass that gains less is the last one
};
struct DevicePartition {
  Array<Index> labels;         // vertices of the level, as names of communities
  Array<std::int64_t> totals;  // the degrees of each community
  std::int64_t moved = 0;
  std::int64_t inside =
      0;  // of a refinement: what edges within the communities weighed when it began, from both ends
};
/// Passes over the vertices of a level, each of which is alone at first, or in the community that `start` names after a vertex.
/// `rule.seed` is that of the level.
DevicePartition move_on(const DeviceLevel& level, const MoveRule& rule, const DevicePasses& passes,
                        const DeviceRoom& room, Stream stream, const Array<Index>& start = {});

/// Splits communities into parts that are connected, and well so (Traag, Waltman, van Eck 2019): vertices that are alone join the
/// part of their community where modularity grows most, and stay there. With a scale of 0 any part is good enough.
DevicePartition refine_on(const DeviceLevel& level, const DevicePartition& within, const MoveRule& rule,
                          const DeviceRoom& room, Stream stream);

/// The graph of the communities, whose labels become numbers without gaps.
DeviceLevel join_on(const DeviceLevel& level, DevicePartition& found, const DeviceRoom& room, Stream stream);

/// A graph whose lists a device reads, and the factor of its weights.
struct DeviceCommunities {
  DeviceLists lists;
  std::int64_t vertices = 0;
  Offset entries = 0;
  DeviceRoom room;
};
Communities louvain_on(const DeviceCommunities& g, const CommunityOptions& options, bool by_level,
                       Stream stream);
Communities leiden_on(const DeviceCommunities& g, const CommunityOptions& options, Stream stream);
Array<Index> label_propagation_on(const DeviceCommunities& g, int passes, std::uint64_t seed, Stream stream);

/// The level of the graph as it was given, and twice the weight of its edges.
struct DeviceBase {
  DeviceLevel level;
  double all = 0;
};
DeviceBase base_of(const DeviceCommunities& g, Stream stream);
/// The modularity of the vertices of a level, each alone.
double quality_of(const DeviceLevel& level, double all, double resolution, Stream stream);
/// In host memory, numbered in the order of the communities' first vertices.
Array<Index> numbered_on_host(const Array<Index>& labels, Stream stream);
Array<Index> alone_on_host(std::int64_t n);
std::int64_t add_all(const Array<std::int64_t>& some, Stream stream);

inline constexpr int kMostPassesOfALevel = 40;

/// The factor that DeviceLists::factor is.
template <class V>
double units_of_weights(const Csr<V>& a);

}  // namespace penstock::community
