// Betweenness on a GPU (Brandes 2001; betweenness_levels_gpu.cu has the kernels). Sources are handled one after the other. The
// levels of a source are found forward, where the host waits for the size of each level; then they are visited backward,
// without waiting, as all sizes are known.
#include "penstock/graph/betweenness/betweenness_gpu.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/betweenness/betweenness_gpu_state.hpp"
#include "penstock/graph/gpu/taken.hpp"

namespace penstock {
namespace {

using gpu::CentralityCounts;
using gpu::CentralityState;

/// The memory of a search: kCentralityVertexBytes for each vertex.
class CentralityWork {
 public:
  explicit CentralityWork(GpuGraph& g)
      : g_(g),
        look_(allocate<CentralityCounts>(1, {Memory::pinned})),
        level_(g, g.vertices(), "the levels of the vertices"),
        order_(g, g.vertices(), "the order of the vertices"),
        next_(g, gpu::bit_words(g.vertices()), "the frontier's bits"),
        starts_(g, gpu::compact_blocks(gpu::bit_words(g.vertices())), "the frontier's blocks"),
        paths_(g, g.vertices(), "the paths to the vertices"),
        share_(g, g.vertices(), "the shares of the vertices"),
        sums_(g, g.vertices(), "the sums of the vertices"),
        pieces_(g, gpu::most_pieces(g.edges()), "the pieces of long lists"),
        counts_(g, 1, "counters") {}
  ~CentralityWork() { drain(g_.stream()); }
  CentralityWork(const CentralityWork&) = delete;
  CentralityWork& operator=(const CentralityWork&) = delete;

  CentralityState state() const {
    return {.vertices = g_.vertices(),
            .all_vertices = g_.vertices(),
            .level = level_.data(),
            .order = order_.data(),
            .next = next_.data(),
            .starts = starts_.data(),
            .paths = paths_.data(),
            .share = share_.data(),
            .sums = sums_.data(),
            .pieces = pieces_.data(),
            .counts = counts_.data()};
  }
  CentralityCounts look() const {
    copy_async(look_.data, counts_.data(), sizeof(CentralityCounts), g_.stream());
    synchronize(g_.stream());
    return *look_.data;
  }

 private:
  GpuGraph& g_;
  Array<CentralityCounts> look_;
  Taken<Index> level_, order_;
  Taken<gpu::Bits> next_;
  Taken<Index> starts_;
  Taken<double> paths_, share_, sums_;
  Taken<gpu::ListPiece> pieces_;
  Taken<CentralityCounts> counts_;
};

class Sources {
 public:
  Sources(GpuGraph& g, const CentralityWork& work, const BetweennessGpuOptions& options)
      : g_(g), work_(work), s_(work.state()), options_(options), access_(g.access_or_best(options.access)) {}

  /// Adds what a source contributes. Returns false if it has too many paths; then nothing was added.
  bool add(Index source) {
    if (!search(source)) return false;
    const double own = options_.endpoints ? 1 : 0;
    const auto last = places_.levels() - 1;
    for (auto d = last; d > 0; --d)
      gpu::add_dependencies(g_.view(), s_, list(d), places_.size(d), Index(d), d == last, own, nullptr,
                            access_, options_.count, g_.stream());
    if (options_.endpoints) gpu::add_source(s_, source, double(places_.reached() - 1), g_.stream());
    return true;
  }
  std::int64_t levels() const { return levels_; }

 private:
  /// Finds the levels.
  bool search(Index source) {
    gpu::begin_source(s_, source, g_.stream());
    places_ = gpu::LevelPlaces(1);
    for (Index depth = 0;; ++depth) {
      auto* const to = s_.order + places_.reached();
      gpu::find_level(g_.view(), s_, list(depth), places_.size(depth), depth, to, access_, options_.count,
                      g_.stream());
      const auto now = work_.look();
      if (now.too_many) return false;
      if (depth % kPoll == 0) poll_interrupt();
      if (now.found == 0) break;
      places_.add(now.found);
    }
    levels_ += places_.levels();
    return true;
  }
  const Index* list(std::int64_t d) const { return s_.order + places_.begin(d); }

  static constexpr Index kPoll = 64;
  GpuGraph& g_;
  const CentralityWork& work_;
  CentralityState s_;
  const BetweennessGpuOptions& options_;
  Access access_;
  gpu::LevelPlaces places_{0};
  std::int64_t levels_ = 0;
};

/// Caches long lists, and leaves room for the sample and for the vertices of later traversals.
void make_cache(GpuGraph& g) {
  constexpr std::int64_t kSample = 16;
  const auto later = (kVertexBytes + (g.view().sample ? 0 : kSample)) * g.vertices();
  if (g.left() > later) g.make_cache(g.left() - later);
}

}  // namespace

BetweennessGpuResult unwritten_betweenness(std::int64_t n, std::span<const Index> sources) {
  for (const auto source : sources)
    require(source >= 0 && source < n, "betweenness: source " + std::to_string(source) +
                                           " is outside a graph of " + std::to_string(n) + " vertices");
  BetweennessGpuResult r;
  const auto owner = reuse_bytes(n * 8, {Memory::pinned});
  r.sums = {static_cast<double*>(owner.get()), n, {Memory::pinned}, owner};
  if (sources.empty()) std::fill(r.sums.data, r.sums.data + n, 0.0);
  return r;
}

BetweennessGpuResult betweenness_gpu(GpuGraph& g, std::span<const Index> sources,
                                     const BetweennessGpuOptions& options) {
  const auto n = g.vertices();
  auto r = unwritten_betweenness(n, sources);
  if (n == 0 || sources.empty()) return r;
  const GraphTurn turn(g, nullptr);
  g.make_room(kCentralityVertexBytes * n + 8 * gpu::most_pieces(g.edges()));
  const CentralityWork work(g);
  if (options.cache) make_cache(g);
  if (options.count) g.clear_counts();
  const auto stream = g.stream();
  const OwnedEvent begin(stream.where, true), end(stream.where, true), copied(stream.where, true);
  fill_async(work.state().sums, 0, n * 8, stream);
  record(begin, stream);
  Sources all(g, work, options);
  for (const auto source : sources)
    if (!all.add(source)) r.left.push_back(source);
  if (options.scale != 1) gpu::scale_sums(work.state(), options.scale, stream);
  record(end, stream);
  copy_async(r.sums.data, work.state().sums, n * 8, stream);
  record(copied, stream);
  synchronize(stream);
  r.levels = all.levels();
  r.seconds = seconds(begin, end), r.copy_seconds = seconds(end, copied);
  if (options.count) r.requests = g.counts();
  return r;
}

}  // namespace penstock
