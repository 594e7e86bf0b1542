#pragma once
#include <iterator>
#include <vector>

#include "penstock/graph/betweenness/betweenness_gpu.hpp"
#include "penstock/graph/gpu/compact.hpp"
#include "penstock/graph/gpu/list_pieces.hpp"

// The data that the kernels of betweenness share, and the functions that launch them on the stream of a GPU.
namespace penstock::gpu {

/// Paths are counted in double. Ratios of counts are needed, so no count may overflow, and no inverse may underflow.
inline constexpr double kMostPaths = 1.7976931348623157e308 / 1e9;

struct CentralityCounts {
  Index found = 0;  // vertices of the next level
  Index pieces = 0;
  Index too_many = 0;  // 1: a vertex has more than kMostPaths paths
};

/// Of a whole graph, or of a part of one. Vertices of lists, of `order` and of `sums` are counted from the part's first one; level,
/// next, paths and share are of all vertices of the graph.
struct CentralityState {
  std::int64_t vertices = 0, all_vertices = 0;
  Index first = 0;          // the graph's number of the part's vertex 0
  Index* level = nullptr;   // -1: not reached
  Index* order = nullptr;   // reached vertices by level, ascending in each
  Bits* next = nullptr;     // the vertices of the next level
  Index* starts = nullptr;  // scratch memory for compactions
  double* paths = nullptr;  // the number of shortest paths from the source
  double* share = nullptr;  // sums of the successors' shares, then (1 + dependency) / paths
  double* sums = nullptr;   // over sources
  ListPiece* pieces = nullptr;
  CentralityCounts* counts = nullptr;
};

/// Where each level of a source begins in `order`.
class LevelPlaces {
 public:
  explicit LevelPlaces(Index of_source)  // the vertices of level 0: one, or none of a part
      : begin_{0, of_source} {}
  void add(Index found) { begin_.push_back(begin_.back() + found); }
  std::int64_t levels() const { return std::ssize(begin_) - 1; }
  std::int64_t reached() const { return begin_.back(); }
  std::int64_t begin(std::int64_t depth) const { return begin_[static_cast<std::size_t>(depth)]; }
  Index size(std::int64_t depth) const { return Index(begin(depth + 1) - begin(depth)); }

 private:
  std::vector<std::int64_t> begin_;
};

/// Makes `source`, a number of the graph, order[0] with level 0, and all other vertices unreached; a part that does not have it only
/// notes its level.
void begin_source(const CentralityState& s, Index source, Stream stream);
/// From the vertices list[0, size) of level `depth`, finds the vertices of the next level and adds up their paths.
void walk_forward(const ListView& g, const CentralityState& s, const Index* list, Index size, Index depth,
                  Access access, bool count, Stream stream);
/// The same, and lists these vertices from `to` on.
void find_level(const ListView& g, const CentralityState& s, const Index* list, Index size, Index depth,
                Index* to, Access access, bool count, Stream stream);
/// Computes the dependencies of these vertices from those of the next level, if there is one, and adds them to the sums, with
/// `own` for each vertex. Their shares go to told[0, size), too, if that is given.
void add_dependencies(const ListView& g, const CentralityState& s, const Index* list, Index size, Index depth,
                      bool last, double own, double* told, Access access, bool count, Stream stream);
/// Adds to the sum of the source itself, for which add_dependencies() must not have been called.
void add_source(const CentralityState& s, Index source, double more, Stream stream);
void scale_sums(const CentralityState& s, double factor, Stream stream);

}  // namespace penstock::gpu
