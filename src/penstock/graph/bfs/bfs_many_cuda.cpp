// The driver of many searches at once on a GPU. Sources go in batches of up to 64; every vertex has a word with a bit for each
// search of the batch (bfs_many_state.hpp has the idea and the paper). Level by level the host reads a few numbers, and
// launches a top-down step, or asks samples and then reads the lists of vertices that are still open.
#include <algorithm>
#include <string>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_many_state.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kMost = 64;  // searches at once
constexpr double kEntryBytes = 4;   // lists are read as they are

/// The memory that the batches of one graph share. While they run it has as many rows of levels as fit.
struct ManyWork {
  explicit ManyWork(GpuGraph& g)
      : words(gpu::bit_words(g.vertices())),
        searches(g.take<gpu::Searches>(3 * g.vertices(), "64 searches")),
        lists(g.take<Index>(2 * g.vertices(), "the frontiers")),
        starts(g.take<Index>(gpu::compact_blocks(words) + 1, "the frontiers")),
        bits(g.take<gpu::Bits>(2 * words, "the frontiers")),
        segments(g.take<gpu::Segment>(gpu::most_segments(g.edges()), "the cut lists")),
        counts(g.take<gpu::ManyCounts>(2, "counters")),
        sources(g.take<Index>(kMost, "the sources")),
        seen(allocate<gpu::ManyCounts>(2, {Memory::pinned, 0})) {}

  /// What it takes of the graph's budget, with one row of levels.
  static std::int64_t bytes(const GpuGraph& g) {
    const auto n = g.vertices(), words = gpu::bit_words(n);
    return (24 + 8 + 4) * n + 4 * (gpu::compact_blocks(words) + 1) + 8 * words +
           gpu::most_segments(g.edges()) * std::int64_t(sizeof(gpu::Segment)) +
           std::int64_t(2 * sizeof(gpu::ManyCounts)) + 4 * kMost;
  }
  static ManyWork& of(GpuGraph& g) {
    const auto all = bytes(g);
    g.make_room(g.known_work<ManyWork>() ? 4 * g.vertices() : all, all);
    return g.work<ManyWork>();
  }

  /// Makes rows of levels for `wanted` searches, or for as many as the budget has room for. Returns how many.
  int make_rows(GpuGraph& g, std::int64_t wanted) {
    const auto n = g.vertices();
    if (levels.size < wanted * n) {
      g.give_back(levels);
      const auto rows = std::clamp<std::int64_t>(g.left() / (4 * n), 1, wanted);
      levels = g.take<Index>(rows * n, "the levels of many searches");
    }
    return int(std::min(wanted, levels.size / n));
  }

  std::int64_t words;
  Array<gpu::Searches> searches;
  Array<Index> lists, starts, levels;
  Array<gpu::Bits> bits;
  Array<gpu::Segment> segments;
  Array<gpu::ManyCounts> counts;
  Array<Index> sources;
  Array<gpu::ManyCounts> seen;
};

class ManyRun {
 public:
  ManyRun(GpuGraph& out, GpuGraph* in, const BfsGpuOptions& options, std::int64_t sources)
      : g_(out),
        in_(in),
        options_(options),
        work_(ManyWork::of(out)),
        access_(out.access_or_best(options.access)) {
    result_.batch = work_.make_rows(out, std::min(kMost, sources));
    out_view_ = view_of(out), in_view_ = view_of(in ? *in : out);
  }

  ~ManyRun() {  // other searches of this graph find the rows' memory free
    drain(stream());
    g_.give_back(work_.levels);
  }
  ManyRun(const ManyRun&) = delete;
  ManyRun& operator=(const ManyRun&) = delete;

  BfsManyResult run(std::span<const Index> sources, Index* levels) {
    if (options_.count) clear_counts();
    const auto n = g_.vertices();
    for (std::size_t first = 0; first < sources.size(); first += std::size_t(result_.batch)) {
      const auto some = sources.subspan(first, std::min(std::size_t(result_.batch), sources.size() - first));
      auto begin = Clock::now();
      batch(some);
      result_.seconds += since(begin);
      begin = Clock::now();
      copy_async(levels + std::int64_t(first) * n, work_.levels.data, 4 * n * std::int64_t(some.size()),
                 stream());
      synchronize(stream());
      result_.copy_seconds += since(begin);
    }
    if (options_.count) {
      result_.requests = g_.counts();
      if (in_ && in_ != &g_)
        for (int i = 0; i < 4; ++i) result_.requests.requests[i] += in_->counts().requests[i];
    }
    return result_;
  }

 private:
  Stream stream() const { return g_.stream(); }
  ListView view_of(const GpuGraph& g) const {
    ListView view = g.view();
    if (options_.sample == 0) view.sample = nullptr, view.sample_size = 0;
    return view;
  }
  void clear_counts() {
    g_.clear_counts();
    if (in_ && in_ != &g_) in_->clear_counts(), synchronize(in_->stream());
  }

  gpu::ManyState state(std::int64_t searches) const {
    const auto n = g_.vertices();
    return {.vertices = n,
            .words = work_.words,
            .all = searches == kMost ? ~gpu::Searches(0) : (gpu::Searches(1) << searches) - 1,
            .seen = work_.searches.data,
            .front = work_.searches.data + n,
            .next = work_.searches.data + 2 * n,
            .levels = work_.levels.data,
            .active = work_.bits.data,
            .open = work_.bits.data + work_.words,
            .list = work_.lists.data,
            .open_list = work_.lists.data + n,
            .starts = work_.starts.data,
            .segments = work_.segments.data,
            .counts = work_.counts.data};
  }

  const gpu::ManyCounts& look() {
    copy_async(work_.seen.data, work_.counts.data, 2 * sizeof(gpu::ManyCounts), stream());
    synchronize(stream());
    poll_interrupt();
    ++result_.passes;
    return *work_.seen.data;
  }

  void batch(std::span<const Index> sources) {
    const auto s = state(std::ssize(sources));
    copy_async(work_.sources.data, sources.data(), std::int64_t(sources.size_bytes()), stream());
    gpu::many_begin(in_ ? &in_view_ : nullptr, s, work_.sources.data, int(sources.size()), stream());
    LinkLedger ledger(std::max(g_.far_bytes(), (in_ ? *in_ : g_).far_bytes()));
    gpu::many_advance(out_view_, s, 0, ledger.bounds(), stream());
    auto now = look();
    for (Index depth = 1; now.frontier > 0; ++depth) {
      const bool up = in_ && options_.method == BfsMethod::automatic &&
                      asks_samples(now.frontier, double(now.long_edges), now.unfinished);
      const auto edges = double(g_.edges());
      const auto spared = far_bytes(double(now.far_edges), now.far_lists, kEntryBytes);
      const gpu::UpChoice choice{.frontier = double(now.frontier),
                                 .edges = double(now.edges),
                                 .long_edges = double(now.long_edges),
                                 .all_edges = edges,
                                 .mean_degree = edges / double(g_.vertices()),
                                 .factor = ledger.factor(),
                                 .spare = ledger.spare(),
                                 .bounds = ledger.bounds(),
                                 .far_bytes = spared,
                                 .bytes_of_entry = kEntryBytes};
      if (up) {
        gpu::many_ask(in_view_, s, choice, stream());
        gpu::many_up(in_view_, s, ledger.bounds(), options_.count, stream());
      }
      gpu::many_down(out_view_, s, now.frontier, now.segments, up, access_, options_.count, stream());
      gpu::many_advance(out_view_, s, depth, ledger.bounds(), stream());
      now = look();
      const auto& step = work_.seen.data[1];
      if (up && step.claimed > 0)
        ledger.add(double(step.spent), up_cost(step.open, 1, edges, choice.mean_degree), spared,
                   step.down != 0);
    }
  }

  GpuGraph& g_;
  GpuGraph* in_;
  BfsGpuOptions options_;
  ManyWork& work_;
  ListView out_view_, in_view_;
  Access access_;
  BfsManyResult result_;
};

}  // namespace

BfsManyResult bfs_many_gpu(GpuGraph& out, GpuGraph* in, std::span<const Index> sources, Index* levels,
                           const BfsGpuOptions& options) {
  for (const Index source : sources)
    require(source >= 0 && source < out.vertices(), "bfs: source " + std::to_string(source) +
                                                        " is outside a graph of " +
                                                        std::to_string(out.vertices()) + " vertices");
  require(!in || (in->vertices() == out.vertices() && in->where() == out.where()),
          "bfs: the reversed edges are of another graph or on another GPU");
  require(options.method != BfsMethod::level_synchronous && !options.predecessors,
          "bfs: many searches at once are neither level-synchronous nor do they find predecessors");
  out.require_lists("a search from several vertices at once");
  if (sources.empty()) return {};
  const GraphTurn turn(out, in);
  if (options.sample > 0) {
    out.make_sample(options.sample, SampleOf::highest_degree);
    if (in && in != &out) in->make_sample(options.sample, SampleOf::highest_degree);
  }
  try {
    ManyRun run(out, in, options, std::ssize(sources));
    if (!options.levels_to) return run.run(sources, levels);
    BfsManyResult result;
    deliver(options.levels_to, out.stream(), "levels",
            [&](void* data) { result = run.run(sources, static_cast<Index*>(data)); });
    return result;
  } catch (...) {
    drain(out.stream());
    throw;
  }
}

}  // namespace penstock
