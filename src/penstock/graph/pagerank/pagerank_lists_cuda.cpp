// PageRank over neighbour lists on a GPU: pagerank_gpu() with walks of these lists (pagerank_lists_gpu.cu) as its products.
#include "penstock/graph/pagerank/pagerank_lists.hpp"

#include <algorithm>
#include <memory>
#include <vector>

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

/// A part of a graph, and room for the vectors of its products if those are on another GPU.
class RankPart {
 public:
  RankPart(GpuGraph& g, Where vectors, const RankListsOptions& how)
      : g_(g),
        away_(g.where() != vectors),
        access_(g.access_or_best(how.access)),
        count_(how.count),
        work_(g, access_),
        x_(g, away_ ? g.all_vertices() : 0, "the ranks of all vertices"),
        y_(g, away_ ? g.vertices() : 0, "the sums of the vertices"),
        done_(g.where()) {}
  ~RankPart() { stop(); }
  RankPart(const RankPart&) = delete;
  RankPart& operator=(const RankPart&) = delete;

  /// Its entries of y, once `ready` has been reached. x and y are of all vertices.
  template <class T>
  void pull(const T* x, T* y, Event ready) const {
    const auto stream = g_.stream();
    wait(stream, ready);
    auto* const own = y + g_.first_vertex();
    if (away_) {
      copy_async(x_.data(), x, bytes<T>(g_.all_vertices()), stream);
      gpu::pull_ranks<T>(g_.view(), work_.cut(), room<T>(x_), room<T>(y_), access_, count_, stream);
      copy_async(own, y_.data(), bytes<T>(g_.vertices()), stream);
    } else {
      gpu::pull_ranks<T>(g_.view(), work_.cut(), x, own, access_, count_, stream);
    }
    record(done_, stream);
  }
  Event done() const { return done_; }
  void stop() const { drain(g_.stream()); }

 private:
  template <class T>
  static std::int64_t bytes(std::int64_t entries) {
    return entries * std::int64_t(sizeof(T));
  }
  template <class T>
  static T* room(const Taken<double>& vector) {
    return reinterpret_cast<T*>(vector.data());
  }

  GpuGraph& g_;
  bool away_;
  Access access_;
  bool count_;
  CutWork work_;
  Taken<double> x_, y_;
  OwnedEvent done_;
};
using RankParts = std::vector<std::unique_ptr<RankPart>>;

template <class T>
DeviceOp<T> parts_op(const GpuParts& g, const RankParts& parts, Event ready) {
  return {.rows = g.vertices(),
          .cols = g.vertices(),
          .where = g.part(0).where(),
          .apply = [&parts, ready](const T* x, T* y, Stream stream) {
            record(ready, stream);
            try {
              for (const auto& part : parts) part->pull<T>(x, y, ready);
              for (const auto& part : parts) wait(stream, part->done());
            } catch (...) {  // the caller frees x and y, which parts that have begun still use
              for (const auto& part : parts) part->stop();
              throw;
            }
          }};
}

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

RankListsResult pagerank_parts(GpuParts& g, std::span<const double> out, const PageRankVectors& vectors,
                               const PageRankOptions& options, const RankListsOptions& how,
                               const ResultTo& to) {
  const GraphTurn turn(g, nullptr);
  const auto begin = Clock::now();
  const auto where = g.part(0).where();
  const bool based = !vectors.personalization.empty() || !vectors.dangling.empty();
  const auto bytes = g.vertices() * rank_vertex_bytes(options.tol, based);
  RankParts parts;
  std::shared_ptr<void> aside;
  for (int i = 0; i < g.count(); ++i) {
    auto& part = g.part(i);
    const auto away = part.where() == where ? 0 : 8 * (g.vertices() + part.vertices());
    part.make_room(32 * gpu::most_pieces(part.edges()) + (i == 0 ? bytes : away));
    parts.push_back(std::make_unique<RankPart>(part, where, how));
    if (i == 0) aside = part.set_aside(bytes, "the vectors of PageRank");
    if (how.count) part.clear_counts(), synchronize(part.stream());
  }
  const OwnedEvent ready(where);
  const auto single = parts_op<float>(g, parts, ready);
  const auto in = parts_op<double>(g, parts, ready);
  RankListsResult r;
  r.ranks = pagerank_gpu(&single, in, out, vectors, options, to);
  for (int i = 0; how.count && i < g.count(); ++i)
    for (int k = 0; k < 4; ++k) r.requests.requests[k] += g.part(i).counts().requests[k];
  r.seconds = since(begin);
  return r;
}

}  // namespace penstock
