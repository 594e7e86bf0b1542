#pragma once
#include "penstock/graph/cc/cc_gpu.hpp"
#include "penstock/graph/gpu/compact.hpp"
#include "penstock/graph/gpu/list_pieces.hpp"

// The data that the kernels of connected components share, and the functions that launch them on the stream of a GPU.
namespace penstock::gpu {

struct CcCounts {
  unsigned long long lists = 0, entries = 0;  // lists and entries that were read
  Index giant = -1;                           // the root whose tree is left out; -1: no tree is
  Index pieces = 0;
  Index changed = 0;
  Index components = 0;
  Index links = 0;  // how many links list_links() found; it may have had room for fewer
};

/// A vertex and a vertex above it in a tree.
struct TreeLink {
  Index vertex, above;
};

/// Trees of vertices: a parent is smaller than its children, and a root is its own parent. At the end `parent` becomes the
/// labels. Over several GPUs each has trees of all vertices, and functions that take a ListView link the vertices of the GPU's
/// own range alone.
struct CcState {
  std::int64_t vertices = 0;  // of the graph
  std::int64_t first = 0;     // the graph's number of vertex 0 of the lists
  Index* parent = nullptr;
  Bits* roots = nullptr;        // a bit for each vertex
  Index* ranks = nullptr;       // the number of roots before each word of `roots`
  ListPiece* pieces = nullptr;  // room for most_pieces() of the larger graph
  CcCounts* counts = nullptr;
  // The first neighbours of vertices [links_first, links_first + links_count) of packed lists, -1 where there is none; hook_first() fills
  // them, unless somebody has.
  Index* links = nullptr;
  std::int64_t links_first = 0, links_count = 0;
  bool links_made = false;
};

/// parent[v] = the smallest of v and its first neighbours, which are those of the sample, or else two of its list. Vertices
/// outside the range are left as they are.
void hook_first(const ListView& g, const CcState& s, bool count, Stream stream);
/// parent[v] = v.
void plant(const CcState& s, Stream stream);
/// Puts every vertex directly under its root.
void flatten(const CcState& s, Stream stream);
/// Links roots with their first neighbours.
void link_roots(const ListView& g, const CcState& s, bool count, Stream stream);
/// counts->giant = the most frequent root of some vertices, drawn from those that are no roots. Trees must be flat.
void find_giant(const CcState& s, Stream stream);
/// Links the vertices outside the giant tree with all neighbours in their samples (or with the first two of their lists).
void link_sampled(const ListView& g, const CcState& s, bool count, Stream stream);
/// Links the vertices that are still outside with all of their lists, except those whose whole list link_sampled() had.
void link_lists(const ListView& g, const CcState& s, Access access, bool count, Stream stream);
/// For every edge, puts the larger root of its two ends under the smaller one. It takes all edges, or those of the vertices
/// that find_moved() found. Trees must be flat.
void hook_ends(const ListView& g, const CcState& s, bool moved_alone, Access access, bool count,
               Stream stream);
/// Finds the vertices whose root was a root at the last note_roots() and is none now. Adds their lists to counts->{lists,
/// entries}; counts->changed = 1 if there are any. They are kept in s.ranks until number_trees().
void find_moved(const ListView& g, const CcState& s, Stream stream);
/// Links vertices [first, last) with their parents in other trees. `parents` has those of these vertices alone, in memory that
/// this GPU can read.
void merge_trees(const CcState& s, const Index* parents, std::int64_t first, std::int64_t last,
                 Stream stream);
/// Sets a bit in s.roots for every root, and clears all others.
void note_roots(const CcState& s, Stream stream);
/// Writes to links[0, room) what was linked since note_roots(): vertices that were roots then with their parents now, in any
/// order, as far as there is room; counts->links = how many there are.
void list_links(const CcState& s, TreeLink* links, Index room, Stream stream);
/// Joins the trees of the two ends of each link.
void add_links(const CcState& s, const TreeLink* links, Index count, Stream stream);
/// Replaces trees by labels, in place, and writes counts->components.
void number_trees(const CcState& s, Stream stream);

}  // namespace penstock::gpu
