#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

inline constexpr Index kNoPredecessor = -9999;  // SciPy's mark
inline constexpr Index kUnreached = -1;

/// A graph as a traversal sees it: edges out of each vertex and, where somebody has them, into each vertex (the same
/// arrays for a symmetric pattern). Without `in` only top-down steps are possible.
struct BfsGraph {
  CsrView<One> out;
  const CsrView<One>* in = nullptr;
};

struct BfsOptions {
  bool predecessors = false;
};

struct BfsResult {
  Array<Index> levels;        // kUnreached where there is no path
  Array<Index> predecessors;  // empty unless asked for
  std::int64_t reached = 0;
  /// Edges that top-down steps walked where a step over `in` would have looked at fewer, had it been there.
  std::int64_t missed = 0;
};

/// What repeated searches of one graph share: memory for frontiers, and which vertices have edges into them. Any
/// number of threads may search with one plan at once.
class BfsPlan {
 public:
  struct Scratch;
  BfsPlan();
  ~BfsPlan();

  std::unique_ptr<Scratch> borrow(std::int64_t vertices);
  void give_back(std::unique_ptr<Scratch> scratch);
  /// Memory for a result, from the last one that was dropped where there is one: fresh pages cost a road network's search
  /// a sixth of its time.
  Array<Index> result(std::int64_t vertices);
  /// Bits of the vertices without edges into them where these are known, and how many others there are; made at the
  /// first call.
  struct Targets {
    std::vector<std::uint64_t> none;
    std::int64_t count = 0;
  };
  const Targets& targets(const BfsGraph& graph);
  static Targets find_targets(const BfsGraph& graph);
  /// Whether the columns of every row ascend; looked up at the first call.
  bool ascending(const CsrView<One>& in);

 private:
  std::mutex lock_;
  std::vector<std::unique_ptr<Scratch>> idle_;
  std::once_flag made_[2], looked_;  // without and with edges into vertices
  Targets targets_[2];
  bool ascending_ = false;
  struct Dropped;
  std::shared_ptr<Dropped> dropped_;
};

/// Levels from `source`, and on request predecessors: the smallest-numbered vertex one level up with an edge to each
/// vertex. The result depends on the graph alone, not on the number of threads.
BfsResult bfs(const BfsGraph& graph, Index source, BfsPlan& plan, BfsOptions options = {});

struct BfsOrder {
  Array<Index> vertices;      // as they are reached
  Array<Index> predecessors;  // of every vertex: who reached it, kNoPredecessor for the source and elsewhere
  std::int64_t reached = 0;   // of `vertices`
};

/// The order in which a queue visits vertices, rows in the order of their entries, `also` (edges to be walked too, after
/// a vertex's own; may be null) behind. Defined by a sequence, so it runs on one thread.
BfsOrder bfs_order(const CsrView<One>& out, const CsrView<One>* also, Index source);

/// Throws Error{invalid_argument} naming the first fault of `levels` and, where not empty, `predecessors`.
/// Independent of bfs(): looks at every edge once and at every predecessor's row.
void bfs_verify(const CsrView<One>& out, Index source, std::span<const Index> levels,
                std::span<const Index> predecessors);

}  // namespace penstock
