#pragma once
#include <algorithm>

#include "penstock/graph/gpu/list_pieces.hpp"
#include "penstock/graph/triangles/triangles_gpu.hpp"

// The data that the kernels that count triangles share, and the function that launches them.
namespace penstock::gpu {

inline constexpr int kShortList = 128;  // ends that a warp takes alone, in a table of its own
inline constexpr int kChunk =
    1024;  // ends of a longer list that a block takes at once: a piece of a packed one

/// An upper bound of the chunks of all lists above kShortList.
constexpr std::int64_t most_chunks(std::int64_t vertices, Offset edges) {
  return std::min(vertices, edges / kShortList) + edges / kChunk + 1;
}

// The same where triangles are counted at their middle vertex (triangles_incoming_gpu.hpp).
inline constexpr Offset kShortIncoming = 128;   // edges into a vertex that a warp takes alone
inline constexpr Offset kIncomingChunk = 1024;  // of more edges those that a block takes at once
constexpr std::int64_t most_incoming_chunks(std::int64_t vertices, Offset edges) {
  return std::min(vertices, edges / kShortList + edges / kShortIncoming) + edges / kIncomingChunk + 1;
}

struct TriangleCounts {
  unsigned long long total = 0;
  Index chunks = 0, next = 0;  // chunks that are left to blocks, and how many of them are claimed
};

struct TriangleState {
  unsigned long long* of_number = nullptr;  // null: only the total is counted
  ListPiece* chunks = nullptr;              // of `number` kChunk ends each
  TriangleCounts* counts = nullptr;
  // The numbers in the order in which their lists are taken; null: in their own. In the order of the vertices, lists that are
  // looked up one soon after the other are often the same, where a graph has neighbourhoods.
  const Index* order = nullptr;
};

void count_triangles(const ListView& g, const TriangleState& s, Access access, bool count, Stream stream);
/// of_vertex[v] = of_number[number[v]]
void counts_of_vertices(const unsigned long long* of_number, const Index* number, std::int64_t vertices,
                        unsigned long long* of_vertex, Stream stream);

}  // namespace penstock::gpu
