#pragma once
#include <optional>
#include <span>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/gpu/gpu_parts.hpp"
#include "penstock/graph/gpu/list_pieces.hpp"
#include "penstock/graph/gpu/result_to.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"

// PageRank of a pattern on a GPU that has its neighbour lists as traversals see them: raw or packed, in its memory or over the link. A
// step is a walk of all lists of edges into vertices, each of which adds up what its vertex gets. Where searches of the same graph
// have placed its lists, nothing else of the graph is needed there.
namespace penstock {

struct RankListsOptions {
  std::optional<Access> access = {};  // empty: the best one for the graph
  bool count = false;                 // count requests over the link, by instrumented kernels: slower
};
struct RankListsResult {
  PageRankResult ranks;
  LinkCounts requests;  // if they were counted
  double seconds = 0;   // in all, ranks on the host included
};

/// pagerank_gpu() with `in`, the lists of edges into each vertex, for the products. `out` has the number of edges out of each
/// vertex. Sums of a list are added in an order that the list alone decides, so the bits are the same in every run. Throws
/// Error{out_of_memory} where the vectors exceed the budget of `in`.
RankListsResult pagerank_lists(GpuGraph& in, std::span<const double> out, const PageRankVectors& vectors,
                               const PageRankOptions& options, const RankListsOptions& how = {},
                               const ResultTo& to = {});
/// The same over several GPUs: all vectors are on the first one, and in each step the others get the vector that is multiplied, and send
/// the entries of their vertices. The bits are those of one GPU where lists are packed or in GPUs' memory. `to` is on the first GPU.
RankListsResult pagerank_parts(GpuParts& in, std::span<const double> out, const PageRankVectors& vectors,
                               const PageRankOptions& options, const RankListsOptions& how = {},
                               const ResultTo& to = {});

namespace gpu {

/// A list that is cut: its pieces are `pieces` numbers from `first` on.
struct CutList {
  Index vertex, first, pieces;
};
struct CutCounts {
  Index lists = 0, pieces = 0;
};
/// The lists of a graph that are cut, and room for the sum of each piece.
struct CutLists {
  CutList* lists = nullptr;
  ListPiece* pieces = nullptr;
  double* sums = nullptr;
  CutCounts* counts = nullptr;
};
/// An upper bound of the lists that are cut.
constexpr std::int64_t most_cut(Offset edges) { return edges / kLongList + 1; }

/// Finds them; counts must be 0.
void find_cut(const ListView& g, const CutLists& cut, Access access, Stream stream);
/// y[v] = the sum of x[u] over the entries u of v's list, for T float and double.
template <class T>
void pull_ranks(const ListView& g, const CutLists& cut, const T* x, T* y, Access access, bool count,
                Stream stream);

}  // namespace gpu
}  // namespace penstock
