// PageRank over neighbour lists on a GPU: pagerank_gpu() with walks of these lists (pagerank_lists_gpu.cu) as its products.
#include "penstock/graph/pagerank/pagerank_lists.hpp"

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/gpu/taken.hpp"
#include "penstock/graph/pagerank/pagerank_gpu.hpp"

namespace penstock {
namespace {

/// The lists that are cut, found once.
class CutWork {
 public:
  CutWork(GpuGraph& g, Access access)
      : g_(g),
        lists_(g, gpu::most_cut(g.edges()), "long lists"),
        pieces_(g, gpu::most_pieces(g.edges()), "the pieces of long lists"),
        sums_(g, gpu::most_pieces(g.edges()), "the sums of the pieces"),
        counts_(g, 1, "counters") {
    fill_async(counts_.data(), 0, counts_.bytes(), g.stream());
    gpu::find_cut(g.view(), cut(), access, g.stream());
    synchronize(g.stream());  // products are on another stream
  }
  ~CutWork() { drain(g_.stream()); }
  CutWork(const CutWork&) = delete;
  CutWork& operator=(const CutWork&) = delete;
  gpu::CutLists cut() const {
    return {.lists = lists_.data(), .pieces = pieces_.data(), .sums = sums_.data(), .counts = counts_.data()};
  }

 private:
  GpuGraph& g_;
  Taken<gpu::CutList> lists_;
  Taken<gpu::ListPiece> pieces_;
  Taken<double> sums_;
  Taken<gpu::CutCounts> counts_;
};

template <class T>
DeviceOp<T> rank_op(const GpuGraph& g, const gpu::CutLists& cut, Access access, bool count) {
  return {.rows = g.vertices(),
          .cols = g.vertices(),
          .where = g.where(),
          .apply = [view = g.view(), cut, access, count](const T* x, T* y, Stream stream) {
            gpu::pull_ranks<T>(view, cut, x, y, access, count, stream);
          }};
}

}  // namespace

RankListsResult pagerank_lists(GpuGraph& g, std::span<const double> out, const PageRankVectors& vectors,
                               const PageRankOptions& options, const RankListsOptions& how,
                               const ResultTo& to) {
  require(g.vertices() == g.all_vertices(), "pagerank: a part of a graph has no ranks");
  const GraphTurn turn(g, nullptr);
  const auto begin = Clock::now();
  const auto access = g.access_or_best(how.access);
  const bool based = !vectors.personalization.empty() || !vectors.dangling.empty();
  const auto bytes = g.vertices() * rank_vertex_bytes(options.tol, based);
  g.make_room(bytes + 32 * gpu::most_pieces(g.edges()));
  const CutWork work(g, access);
  const auto aside = g.set_aside(bytes, "the vectors of PageRank");
  if (how.count) g.clear_counts();
  synchronize(g.stream());
  const auto single = rank_op<float>(g, work.cut(), access, how.count);
  const auto in = rank_op<double>(g, work.cut(), access, how.count);
  RankListsResult r;
  r.ranks = pagerank_gpu(&single, in, out, vectors, options, to);
  if (how.count) r.requests = g.counts();
  r.seconds = since(begin);
  return r;
}

}  // namespace penstock
