#pragma once
#include <cstdint>
#include <functional>

#include "penstock/core/device.hpp"

// The second order in which a GPU counts the triangles w < v < u of oriented edges: at v, the middle one. The ends of v are put into
// a table, and for each edge (u, v) the ends of u that come before v are looked up in it. Each pair of ends of u is looked up
// once. Counting at u, the whole list of v is looked up, also what is not below v's neighbours in any triangle: 1.8 to 3.2 times
// as many ends on two social graphs and R-MAT 14 to 18, where lists are ordered by degree.
namespace penstock {

/// For each vertex v the edges (u, v) that end there, in the GPU's memory: lists[offsets[v], offsets[v + 1]), each with where the
/// ends of u begin and how many of them come before v.
struct IncomingEdges {
  Array<const Offset> offsets;
  Array<const std::uint64_t> lists;  // empty where they are not there, or the first order is less work
};

/// Bytes of the GPU that it takes to make them, beside the oriented lists; `sort_bytes(pairs)` is the scratch memory of a sort.
std::int64_t incoming_bytes(std::int64_t vertices, Offset edges,
                            const std::function<std::int64_t(std::int64_t)>& sort_bytes);

namespace gpu {

struct TriangleState;

// An entry of IncomingEdges::lists: begin << kLengthBits | length. Longer lists and more edges are counted in the first order.
inline constexpr int kLengthBits = 24;
inline constexpr Offset kMostIncomingEdges = Offset(1) << (64 - kLengthBits);
inline constexpr Index kMostIncomingLength = (1 << kLengthBits) - 1;
constexpr std::uint64_t incoming_entry(Offset begin, Offset length) {
  return std::uint64_t(begin) << kLengthBits | std::uint64_t(length);
}

/// Oriented lists, and the edges that come into each vertex.
struct IncomingView {
  std::int64_t vertices = 0;
  const Offset* offsets = nullptr;
  const Index* ends = nullptr;
  const Offset* in_offsets = nullptr;
  const std::uint64_t* in_lists = nullptr;
};

/// The ends that a count looks up at middle vertices, and those in the first order.
struct IncomingWork {
  double here = 0, first = 0;
};

/// Writes the end of each edge and its entry, in the order of the oriented lists.
void incoming_pairs(const Offset* offsets, const Index* ends, std::int64_t vertices, Offset edges,
                    Index* keys, std::uint64_t* entries, Stream stream);
/// in_offsets[v] = how many of `edges` sorted keys are below v, for v = 0 to vertices.
void incoming_offsets(const Index* keys, Offset edges, std::int64_t vertices, Offset* in_offsets,
                      Stream stream);
void incoming_work(const IncomingView& g, IncomingWork* work, Stream stream);
/// Adds the number of triangles to s.counts->total. Of the state it uses `chunks`, `counts` and `order`.
void count_incoming(const IncomingView& g, const TriangleState& s, Stream stream);

}  // namespace gpu
}  // namespace penstock
