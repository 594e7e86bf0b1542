#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// The edges of a simple undirected graph, each once: the ends of number u are ends[first[u], first[u] + length[u]), all
/// smaller than u. Made once for a graph; with `vertex` numbers are given from the highest degree down.
struct OrientedEdges {
  Array<const Offset> first;
  Array<const Index> length, ends;
  Array<Index> vertex;  // by number; empty where numbers are the vertices

  std::int64_t size() const { return length.size; }
};

/// `a` is simple and symmetric: each edge in both directions, rows ascend, no self loops.
OrientedEdges orient_edges(const Csr<One>& a);

struct Triangles {
  std::int64_t total = 0;
  Array<std::int64_t> of_vertex;  // empty unless asked for
};

Triangles count_triangles(const OrientedEdges& edges, bool of_vertex);

/// Throws Error{invalid_argument} where a count cannot be right or is not what rows of the simple, symmetric `a` say when
/// looked up in each other: at all vertices where that takes at most `budget` steps, else at as many, chosen by `seed`, as
/// it allows. Nothing is shared with count_triangles(). Returns how many vertices were counted anew.
std::int64_t triangles_verify(const CsrView<One>& a, std::span<const std::int64_t> of_vertex,
                              std::int64_t budget, std::uint64_t seed);
/// All triangles by the same look-ups: much slower than count_triangles().
std::int64_t triangles_recount(const CsrView<One>& a);

namespace graph {

/// Numbers of a list that have their bit set: how many, and where `found` is given, which; it has room for `count`
/// numbers and kFoundSlack more.
using Marked = std::int64_t (*)(const std::uint32_t* bits, const Index* list, std::int64_t count,
                                Index* found);
inline constexpr std::int64_t kFoundSlack = 16;
namespace avx512 {
std::int64_t marked(const std::uint32_t* bits, const Index* list, std::int64_t count, Index* found);
}

}  // namespace graph
}  // namespace penstock
