#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// The edges of a simple undirected graph, each once: the ends of number u are ends[first[u], first[u] + length[u]), and all
/// of them are smaller than u. It is made once for a graph. If there is `vertex`, numbers are given from the highest degree
/// down.
struct OrientedEdges {
  Array<const Offset> first;
  Array<const Index> length, ends;
  Array<Index> vertex;  // the vertex of each number; empty if numbers are the vertices

  std::int64_t size() const { return length.size; }
};

/// `a` must be simple and symmetric: each edge is there in both directions, rows ascend, and there are no self loops.
OrientedEdges orient_edges(const Csr<One>& a);

/// Throws Error{invalid_argument} unless a has as many rows as columns.
void require_adjacency(const Csr<One>& a);
/// Whether numbers are ranks by degree, for a pattern of so many entries between so many vertices that have any; `lookups` is
/// what a count with the vertices as numbers would take.
bool worth_renumbering(Offset entries, double lookups, std::int64_t connected);

struct Triangles {
  std::int64_t total = 0;
  Array<std::int64_t> of_vertex;  // empty unless asked for
};

Triangles count_triangles(const OrientedEdges& edges, bool of_vertex);

/// Throws Error{invalid_argument} if a count cannot be right, or if it is not what looking up the rows of the simple,
/// symmetric `a` in each other gives. This is done for all vertices if that takes at most `budget` steps, otherwise for as
/// many vertices, chosen by `seed`, as the budget allows. It shares nothing with count_triangles(). Returns how many vertices
/// were counted again.
std::int64_t triangles_verify(const CsrView<One>& a, std::span<const std::int64_t> of_vertex,
                              std::int64_t budget, std::uint64_t seed);
/// The number of all triangles by the same look-ups, which are much slower than count_triangles().
std::int64_t triangles_recount(const CsrView<One>& a);

namespace graph {

/// Counts the numbers of a list whose bit is set. If `found` is given, it gets these numbers; it has room for `count` numbers
/// and kFoundSlack more.
using Marked = std::int64_t (*)(const std::uint32_t* bits, const Index* list, std::int64_t count,
                                Index* found);
inline constexpr std::int64_t kFoundSlack = 16;
namespace avx512 {
std::int64_t marked(const std::uint32_t* bits, const Index* list, std::int64_t count, Index* found);
}

}  // namespace graph
}  // namespace penstock
