#pragma once
#include "penstock/graph/bfs/bfs_gpu_state.hpp"

// Up to 64 searches at once, with a bit for each (Then et al., "The more the merrier: efficient multi-source graph traversal",
// VLDB 2014): a vertex has a word with the searches that have seen it, and a word with those whose frontier it is in.
namespace penstock::gpu {

using Searches = unsigned long long;

/// The numbers that a level writes for the next one.
struct ManyCounts {
  unsigned long long edges = 0, long_edges = 0;  // edges out of vertices that are in a frontier
  // As of BfsCounts, for what many searches read together.
  unsigned long long far_edges = 0, open_edges = 0, spent = 0, claimed = 0;
  double limit = 0;
  Index far_lists = 0, open_far = 0;
  Index frontier = 0;  // how many vertices are in a frontier
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
  Searches* next = nullptr;  // the frontiers of the level that is being found
  Index* levels = nullptr;   // a row of `vertices` levels for each search
  Bits* active = nullptr;    // vertices in a frontier
  Bits* open = nullptr;
  Index* list = nullptr;       // `active` as an ascending list
  Index* open_list = nullptr;  // `open` as an ascending list
  Index* starts = nullptr;
  Segment* segments = nullptr;
  ManyCounts* counts =
      nullptr;  // two: of the level that is being found; of the one before, when its step was done
};

/// Level 0: search i starts at sources[i] (device memory). `in` may be null.
void many_begin(const ListView* in, const ManyState& s, const Index* sources, int count, Stream stream);
/// Makes the vertices that are in `next` and not in `seen` the new frontiers: writes their levels, bits and lists, and counts
/// their edges in g; `far`: and far_edges, and keeps what the counts were.
void many_advance(const ListView& g, const ManyState& s, Index depth, bool far, Stream stream);
void many_down(const ListView& g, const ManyState& s, Index frontier, Index segments, bool guarded,
               Access access, bool count, Stream stream);
/// Adds the frontiers of sampled neighbours to `next`. open_list has the vertices that remain, and counts->down says whether
/// they are left to a top-down step, counts->limit what a bottom-up step may read.
void many_ask(const ListView& in, const ManyState& s, const UpChoice& choice, Stream stream);
/// Unless counts->down is set, reads the lists in open_list. `limited`: sets counts->down once it has read as much as counts->limit says.
void many_up(const ListView& in, const ManyState& s, bool limited, bool count, Stream stream);

}  // namespace penstock::gpu
