#pragma once
#include <algorithm>

#include "penstock/graph/gpu/list_pieces.hpp"
#include "penstock/graph/triangles/triangles_gpu.hpp"

// What the kernels that count triangles share, and the call that launches them.
namespace penstock::gpu {

inline constexpr int kShortList = 128;  // ends that a warp takes alone, in a table of its own
inline constexpr int kChunk = 1024;     // ends of a longer list that a block takes at once

/// Chunks of all lists above kShortList, at most.
constexpr std::int64_t most_chunks(std::int64_t vertices, Offset edges) {
  return std::min(vertices, edges / kShortList) + edges / kChunk + 1;
}

struct TriangleCounts {
  unsigned long long total = 0;
  Index chunks = 0, next = 0;  // chunks left to blocks, and those claimed
};

struct TriangleState {
  unsigned long long* of_number = nullptr;  // null: the total alone
  ListPiece* chunks = nullptr;              // of `number` kChunk ends each
  TriangleCounts* counts = nullptr;
};

void count_triangles(const ListView& g, const TriangleState& s, Access access, bool count, Stream stream);

}  // namespace penstock::gpu
