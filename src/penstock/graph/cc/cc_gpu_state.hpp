#pragma once
#include "penstock/graph/cc/cc_gpu.hpp"
#include "penstock/graph/gpu/compact.hpp"
#include "penstock/graph/gpu/list_pieces.hpp"

// What the kernels of connected components share, and the calls that launch them, all on the stream of a GPU.
namespace penstock::gpu {

struct CcCounts {
  unsigned long long lists = 0, entries = 0;  // read where the edges are
  Index giant = -1;                           // the root whose tree is left out; -1: none
  Index pieces = 0;
  Index changed = 0;
  Index components = 0;
  Index links = 0;  // that list_links() found, more of them than it may have had room for
};

/// A vertex and one above it in a tree.
struct TreeLink {
  Index vertex, above;
};

/// Trees of vertices: a parent is smaller than its children, a root its own. `parent` becomes the labels at the end.
/// Over several GPUs each has trees of all vertices, and what takes a ListView links those of its own range alone.
struct CcState {
  std::int64_t vertices = 0;  // of the graph
  std::int64_t first = 0;     // the graph's number of vertex 0 of the lists
  Index* parent = nullptr;
  Bits* roots = nullptr;        // a bit a vertex
  Index* ranks = nullptr;       // roots before each word of `roots`
  ListPiece* pieces = nullptr;  // most_pieces of the larger graph
  CcCounts* counts = nullptr;
};

/// parent[v] = the smallest of v and its first neighbours: those of the sample, else two of its list. Vertices that are
/// not of the range are left as they are.
void hook_first(const ListView& g, const CcState& s, bool count, Stream stream);
/// parent[v] = v.
void plant(const CcState& s, Stream stream);
/// Every vertex right under its root.
void flatten(const CcState& s, Stream stream);
/// Links roots with their first neighbours.
void link_roots(const ListView& g, const CcState& s, bool count, Stream stream);
/// counts->giant = the most frequent root of vertices drawn among those that are no roots. Trees are flat.
void find_giant(const CcState& s, Stream stream);
/// Links the vertices outside the giant tree with all that the sample has of them (or the first two of their lists).
void link_sampled(const ListView& g, const CcState& s, bool count, Stream stream);
/// Links the vertices that are still outside with all of their lists, but for those that link_sampled() had whole.
void link_lists(const ListView& g, const CcState& s, Access access, bool count, Stream stream);
/// Hooks the larger root of the ends of every edge under the smaller: of all edges, or of those of vertices that
/// find_moved() found. Trees are flat.
void hook_ends(const ListView& g, const CcState& s, bool moved_alone, Access access, bool count,
               Stream stream);
/// The vertices whose root was one when s.roots was noted and is none now, whose lists it adds to counts->{lists,
/// entries}; counts->changed = 1 if there are any. Kept in s.ranks until number_trees().
void find_moved(const ListView& g, const CcState& s, Stream stream);
/// Links vertices [first, last) with their parents of other trees: `parents`, of these vertices alone, where this GPU reads.
void merge_trees(const CcState& s, const Index* parents, std::int64_t first, std::int64_t last,
                 Stream stream);
/// s.roots = a bit for every root.
void note_roots(const CcState& s, Stream stream);
/// links[0, room) = what was linked since note_roots(): roots of then with their parents of now, in no order, as far as
/// there is room; counts->links = how many there are.
void list_links(const CcState& s, TreeLink* links, Index room, Stream stream);
/// One tree for the ends of each link.
void add_links(const CcState& s, const TreeLink* links, Index count, Stream stream);
/// From trees to labels, in place; counts->components.
void number_trees(const CcState& s, Stream stream);

}  // namespace penstock::gpu
