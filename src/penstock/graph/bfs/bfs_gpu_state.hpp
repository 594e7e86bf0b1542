#pragma once
#include "penstock/graph/bfs/bfs_gpu.hpp"
#include "penstock/graph/gpu/compact.hpp"

// What the kernels of a search share, and the calls that launch them.
namespace penstock::gpu {

inline constexpr Offset kSegment = 4096;  // entries of a list that one warp walks; longer lists are cut
inline constexpr Offset kLongProbe =
    1024;  // entries that one probe looks at before a list is cut into segments

struct Segment {
  Index vertex, number;  // entries [number, number + 1) * kSegment of its list
};
/// Segments of all lists that are cut, at most: those above kLongProbe entries.
constexpr std::int64_t most_segments(Offset edges) { return edges / kSegment + edges / kLongProbe + 1; }

/// Numbers that one level leaves for the next, on the device; the host reads them once a level.
struct BfsCounts {
  unsigned long long edges = 0;       // out of the new frontier
  unsigned long long long_edges = 0;  // those of lists that the sample does not hold
  unsigned long long link_edges =
      0;               // the same as what they cost: kCachedCost of them for one where lists are cached
  Index frontier = 0;  // its vertices
  Index segments = 0;  // of its lists above kSegment
  Index open = 0;      // vertices whose samples did not tell
  Index open_segments = 0;
  Index down = 0;                // whether the open ones are left to a top-down step
  Index depth = 0, reached = 0;  // after the one-kernel mode: the last level, vertices found
  unsigned next = 0;             // list entries claimed by warps: may pass 2^31
};
/// A level of the one-kernel mode.
struct SmallCounts {
  unsigned long long long_edges = 0;
  Index size = 0, unused = 0;
};

/// A search of a whole graph, or a part's share of one: `front`, `all_visited` and `all_parents` are of all vertices of
/// the graph, the other arrays of the part's. In the first case front == own_front and so on.
struct BfsState {
  std::int64_t vertices = 0, words = 0;
  Index* levels = nullptr;
  Index* parents = nullptr;   // null: not asked for
  Bits* visited = nullptr;    // reached, or never to be reached (no edges into it), or beyond the last vertex
  Bits* before = nullptr;     // `visited` when the level began
  Bits* front = nullptr;      // the frontier
  Bits* own_front = nullptr;  // where a step writes it: front's words of these vertices
  Bits* all_visited = nullptr;   // where top-down steps set bits: `visited`, or more vertices around it
  Index* all_parents = nullptr;  // likewise
  Index first = 0;               // what the graph calls vertex 0 of a part
  Bits* open = nullptr;          // vertices whose samples did not tell
  Index* list = nullptr;         // the frontier, ascending
  Index* open_list = nullptr;    // `open`, ascending
  Index* starts = nullptr;       // for compactions
  Segment* segments = nullptr;
  BfsCounts* counts = nullptr;
  SmallCounts* small = nullptr;  // three of them
};

/// Bits of the vertices without edges in g and of those beyond the last; *candidates = how many others there are.
void mark_edgeless(const ListView& g, Bits* done, Index* candidates, Stream stream);
void fill_numbers(Index* numbers, std::int64_t n, Index value, Stream stream);
/// Makes `source` all that `visited` has and `before` has not.
void begin_search(const BfsState& s, Index source, Stream stream);
/// Lists the vertices visited since the last call, gives them level `depth`, and counts their edges in g.
void next_frontier(const ListView& g, const BfsState& s, Index depth, Stream stream);

/// Follows the edges out of list[0, frontier) and of the segments. `guarded`: only if counts->down.
void step_down(const ListView& g, const BfsState& s, Index frontier, Index segments, bool guarded,
               Access access, bool count, Stream stream);

struct UpChoice {
  double frontier = 0, edges = 0, long_edges = 0, all_edges = 0, mean_degree = 0;
};
/// Asks the samples of all that is not visited; what remains is in open_list.
void ask_samples(const ListView& in, const BfsState& s, Stream stream);
/// counts->down: whether what remains is left to a top-down step.
void choose_way(const BfsState& s, const UpChoice& choice, Stream stream);
/// Unless counts->down: reads the lists of open_list as far as the first entry that is in the frontier. `reach`: see
/// reach_of().
void step_up(const ListView& in, const BfsState& s, float reach, bool count, Stream stream);

/// Levels after `depth`, from list[0, frontier), until there are none or the frontier is no longer small: leaves
/// counts->{depth, frontier, reached}, and, where it is not empty, what next_frontier() needs.
void small_levels(const ListView& g, const BfsState& s, Index frontier, Index depth, Access access,
                  bool count, Stream stream);

/// EMOGI's level: every vertex of level `depth` gives its unreached neighbours the next one. *changed = 1 if any.
void scan_level(const ListView& g, Index* levels, Index depth, Index* changed, Access access, bool count,
                Stream stream);

}  // namespace penstock::gpu
