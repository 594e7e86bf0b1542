#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/patched_rows.hpp"

namespace penstock {

inline constexpr Index kNoPredecessor = -9999;  // the same number as in SciPy
inline constexpr Index kUnreached = -1;

/// A graph for a traversal: the edges out of each vertex and, if they are known, the edges into each vertex (the same arrays
/// for a symmetric pattern). Without `in` only top-down steps are possible. `Rows`: what has the lists (graph/rows.hpp).
template <class Rows>
struct GraphOf {
  Rows out;
  const Rows* in = nullptr;
};
using BfsGraph = GraphOf<CsrView<One>>;
using PackedGraph = GraphOf<graph::PackedRows>;
using PatchedGraph = GraphOf<graph::PatchedRows>;
using PatchedPackedGraph = GraphOf<graph::Patched<graph::PackedRows>>;

struct BfsOptions {
  bool predecessors = false;
};

struct BfsResult {
  Array<Index> levels;        // kUnreached for vertices without a path
  Array<Index> predecessors;  // empty unless asked for
  std::int64_t reached = 0;
  /// Edges that top-down steps walked because there was no `in`, with which a step would have looked at fewer.
  std::int64_t missed = 0;
};

/// What repeated searches of one graph share, whichever form of its lists they read: memory for frontiers, and which vertices
/// have edges into them. Any number of threads may search with one plan at the same time.
class BfsPlan {
 public:
  struct Scratch;
  BfsPlan();
  ~BfsPlan();

  std::unique_ptr<Scratch> borrow(std::int64_t vertices);
  void give_back(std::unique_ptr<Scratch> scratch);
  /// Memory for a result. It is that of the last result that was dropped, if there is one: fresh pages cost a road network's
  /// search a sixth of its time.
  Array<Index> result(std::int64_t vertices);
  /// A bit for each vertex without edges into it, if these edges are known, and the number of all other vertices. It is made
  /// at the first call.
  struct Targets {
    std::vector<std::uint64_t> none;
    std::int64_t count = 0;
  };
  const Targets& targets(const BfsGraph& graph);
  const Targets& targets(const PackedGraph& graph);
  const Targets& targets(const PatchedGraph& graph);
  const Targets& targets(const PatchedPackedGraph& graph);
  static Targets find_targets(const BfsGraph& graph);
  static Targets find_targets(const PackedGraph& graph);
  static Targets find_targets(const PatchedGraph& graph);
  static Targets find_targets(const PatchedPackedGraph& graph);
  /// Whether the columns of every row ascend. It is checked at the first call; those of packed lists and of changed
  /// graphs do.
  bool ascending(const CsrView<One>& in);
  bool ascending(const graph::PackedRows&) { return true; }
  template <class Base>
  bool ascending(const graph::Patched<Base>&) {
    return true;
  }

 private:
  std::mutex lock_;
  std::vector<std::unique_ptr<Scratch>> idle_;
  std::once_flag made_[2], looked_;  // without and with edges into vertices
  Targets targets_[2];
  bool ascending_ = false;
  struct Dropped;
  std::shared_ptr<Dropped> dropped_;
};

/// Levels from `source`, and on request predecessors: for each vertex, the vertex with the smallest number that is one level
/// up and has an edge to it. The result depends on the graph alone, not on the number of threads.
BfsResult bfs(const BfsGraph& graph, Index source, BfsPlan& plan, BfsOptions options = {});
/// The same over packed lists, which are decoded where they are read: the memory beside them is some words a vertex.
BfsResult bfs(const PackedGraph& graph, Index source, BfsPlan& plan, BfsOptions options = {});
/// The same over a graph some of whose lists are replaced.
BfsResult bfs(const PatchedGraph& graph, Index source, BfsPlan& plan, BfsOptions options = {});
BfsResult bfs(const PatchedPackedGraph& graph, Index source, BfsPlan& plan, BfsOptions options = {});

struct BfsOrder {
  Array<Index> vertices;  // as they are reached
  // For every vertex the one that reached it; kNoPredecessor for the source and unreached ones.
  Array<Index> predecessors;
  std::int64_t reached = 0;  // how many of `vertices` are valid
};

/// The order in which a queue visits vertices. A row is followed in the order of its entries. `also` has edges that are
/// followed after a vertex's own; it may be null. This order is defined by a sequence, so it runs on one thread.
BfsOrder bfs_order(const CsrView<One>& out, const CsrView<One>* also, Index source);

/// Throws Error{invalid_argument} that names the first fault of `levels` and, if not empty, of `predecessors`. It is
/// independent of bfs(): it looks at every edge once, and at the row of every predecessor.
void bfs_verify(const CsrView<One>& out, Index source, std::span<const Index> levels,
                std::span<const Index> predecessors);

}  // namespace penstock
