#pragma once
#include "penstock/graph/bfs/bfs_gpu_state.hpp"

// Up to 64 searches at once, a bit each (Then et al., "The more the merrier: efficient multi-source graph traversal", VLDB
// 2014): a vertex has a word of the searches that have seen it, and a word of those whose frontier it is in.
namespace penstock::gpu {

using Searches = unsigned long long;

/// Numbers that one level leaves for the next.
struct ManyCounts {
  unsigned long long edges = 0, long_edges = 0;  // out of vertices that are in a frontier
  Index frontier = 0;                            // those vertices
  Index segments = 0;
  Index unfinished = 0;  // vertices that a search has not seen
  Index open = 0;        // vertices whose samples did not answer for all searches
  Index down = 0;
  unsigned next = 0;  // list entries claimed by warps: may pass 2^31
};

struct ManyState {
  std::int64_t vertices = 0, words = 0;
  Searches all = 0;  // a bit for every search
  Searches* seen = nullptr;
  Searches* front = nullptr;
  Searches* next = nullptr;  // of the level that is being found
  Index* levels = nullptr;   // a row of `vertices` a search
  Bits* active = nullptr;    // vertices in a frontier
  Bits* open = nullptr;
  Index* list = nullptr;       // `active`, ascending
  Index* open_list = nullptr;  // `open`, ascending
  Index* starts = nullptr;
  Segment* segments = nullptr;
  ManyCounts* counts = nullptr;
};

/// Level 0: search i starts at sources[i] (device memory). `in` may be null.
void many_begin(const ListView* in, const ManyState& s, const Index* sources, int count, Stream stream);
/// Takes what `next` has and `seen` has not as the new frontiers: levels, bits, lists, edges in g.
void many_advance(const ListView& g, const ManyState& s, Index depth, Stream stream);
void many_down(const ListView& g, const ManyState& s, Index frontier, Index segments, bool guarded,
               Access access, bool count, Stream stream);
/// Ors the frontiers of sampled neighbours into `next`; open_list and counts->down say what remains.
void many_ask(const ListView& in, const ManyState& s, const UpChoice& choice, Stream stream);
void many_up(const ListView& in, const ManyState& s, bool count, Stream stream);

}  // namespace penstock::gpu
