#pragma once
#include "penstock/graph/bfs/bfs_gpu.hpp"
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/gpu/compact.hpp"

// The data that the kernels of a search share, and the functions that launch them.
namespace penstock::gpu {

/// Entries of a list that one warp walks; longer lists are cut. 4096 took 80 us on an H100, as long as a level of 6 M edges.
inline constexpr Offset kSegment = 1024;
// Entries that one probe looks at before the rest of a list is cut into segments.
inline constexpr Offset kLongProbe = 1024;
static_assert(kLongProbe % kSegment == 0 && kLongProbe % kPackedPiece == 0);

struct Segment {
  Index vertex, number;  // entries [number, number + 1) * kSegment of the vertex's list
};
/// An upper bound of the segments of all lists that are cut, which are those above kLongProbe entries.
constexpr std::int64_t most_segments(Offset edges) { return edges / kSegment + edges / kLongProbe + 1; }

/// The numbers that a level writes for the next one, on the device. The host reads them once a level.
struct BfsCounts {
  unsigned long long edges = 0;       // edges out of the new frontier
  unsigned long long long_edges = 0;  // those of them in lists that the sample does not hold
  // The same by their cost: kCachedCost edges of cached lists count as one.
  unsigned long long link_edges = 0;
  // Of long_edges, those in lists that are not on the GPU (if not all lists are), and those of the lists that probes may read.
  unsigned long long far_edges = 0, open_edges = 0;
  // Bytes that a bottom-up step with a limit has read over the link, and those that it has claimed before.
  unsigned long long spent = 0, claimed = 0;
  double limit = 0;                   // up_limit()
  Index far_lists = 0, open_far = 0;  // the lists with far_edges, open_edges
  Index frontier = 0;                 // vertices of the frontier
  Index segments = 0;                 // of the frontier's lists above kSegment
  Index open = 0;                     // vertices whose samples did not answer
  Index open_segments = 0;
  Index down = 0;                // whether open vertices are left to a top-down step
  Index depth = 0, reached = 0;  // after the one-kernel mode: the last level, vertices found
  unsigned next = 0;             // list entries claimed by warps: may pass 2^31
};
/// A level of the one-kernel mode.
struct SmallCounts {
  unsigned long long long_edges = 0;
  Index size = 0, longest = 0;  // longest: of its vertices' lists
};

/// A search of a whole graph, or the share that one part has in a search. `front`, `all_visited` and `all_parents` are about
/// all vertices of the graph, the other arrays about the vertices of the part. In a search of a whole graph front == own_front
/// and so on.
struct BfsState {
  std::int64_t vertices = 0, words = 0;
  Index* levels = nullptr;
  Index* parents = nullptr;   // null: not asked for
  Bits* visited = nullptr;    // reached, or never to be reached (no edges into it), or beyond the last vertex
  Bits* before = nullptr;     // `visited` when the level began
  Bits* front = nullptr;      // the frontier
  Bits* own_front = nullptr;  // the words of `front` for the part's vertices, which a step writes
  Bits* all_visited = nullptr;       // where top-down steps set bits: it contains `visited`
  Index* all_parents = nullptr;      // where top-down steps write predecessors: it contains `parents`
  Index first = 0;                   // the graph's number of the part's vertex 0
  bool near = false;                 // all lists are on this GPU: their order costs nothing
  Bits* open = nullptr;              // vertices whose samples did not answer
  Index* list = nullptr;             // the frontier as an ascending list
  Index* open_list = nullptr;        // `open` as an ascending list
  Index* starts = nullptr;           // scratch memory for compactions
  Segment* segments = nullptr;       // of the frontier's lists
  Segment* open_segments = nullptr;  // of the lists that probes have left
  BfsCounts* counts = nullptr;
  SmallCounts* small = nullptr;  // an array of three
};

/// Sets the bits of the vertices without edges in g, and those beyond the last vertex; *candidates = how many other vertices
/// there are.
void mark_edgeless(const ListView& g, Bits* done, Index* candidates, Stream stream);
void fill_numbers(Index* numbers, std::int64_t n, Index value, Stream stream);
/// Makes `source` the only vertex that is in `visited` and not in `before`.
void begin_search(const BfsState& s, Index source, Stream stream);
/// Lists the vertices visited since the last call, gives them level `depth`, and counts their edges in g; `far`: and far_edges.
void next_frontier(const ListView& g, const BfsState& s, Index depth, bool far, Stream stream);

struct Frontier {
  Index vertices = 0;  // list[0, vertices)
  std::int64_t edges = 0;
  Index segments = 0;
};
/// Follows the edges out of the frontier and of the segments. `guarded`: only if counts->down.
void step_down(const ListView& g, const BfsState& s, Frontier from, bool guarded, Access access, bool count,
               Stream stream);

struct UpChoice {
  double frontier = 0, edges = 0, long_edges = 0, all_edges = 0, mean_degree = 0;
  double factor = 1, spare = 0;  // LinkLedger's
  bool bounds = false;
  bool near = false;  // whether these costs are weighed, instead of those of the link
  NearCosts costs = {};
  double far_bytes = 0;       // of the frontier's lists
  double bytes_of_entry = 4;  // of a list over the link, on average
};
/// Asks the samples of all vertices that are not visited. Vertices whose samples do not answer are put into open_list.
void ask_samples(const ListView& in, const BfsState& s, Stream stream);
/// counts->{open_edges, open_far} = what probes of the vertices in open_list may read over the link.
void count_open(const ListView& in, const BfsState& s, Stream stream);
/// counts->down = whether open vertices are left to a top-down step; counts->limit = what a bottom-up step may read.
void choose_way(const ListView& in, const BfsState& s, const UpChoice& choice, Stream stream);
/// Unless counts->down is set, reads the lists of the vertices in open_list up to the first entry that is in the frontier. Sets
/// counts->down once it has read as much as counts->limit says, and leaves what is open to a top-down step. `reach` is that of
/// reach_of(), bytes_of_entry that of the choice; 0: any number may be read.
void step_up(const ListView& in, const BfsState& s, float reach, float bytes_of_entry, bool count,
             Stream stream);

/// Finds the levels after `depth`, from list[0, frontier) on, until there are none or the frontier is no longer small. It
/// writes counts->{depth, frontier, reached} and, if the frontier is not empty, what next_frontier() needs.
void small_levels(const ListView& g, const BfsState& s, Index frontier, Index depth, Access access,
                  bool count, Stream stream);

/// A level of EMOGI: every vertex of level `depth` gives its unreached neighbours the next level. *changed = 1 if there are
/// any.
void scan_level(const ListView& g, Index* levels, Index depth, Index* changed, Access access, bool count,
                Stream stream);

}  // namespace penstock::gpu
