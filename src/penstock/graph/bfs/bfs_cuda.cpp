// The driver of breadth-first search on one GPU. After each level the host reads a few numbers (vertices and edges of the new
// frontier), decides by expected cost how the next level is found (bfs_gpu_rule.hpp), and launches the kernels: top-down
// (bfs_down_gpu.cu), bottom-up by samples and then lists (bfs_up_gpu.cu), many small levels in one kernel
// (bfs_small_gpu.cu), or EMOGI's baseline (bfs_scan_gpu.cu). Direction-optimising search is that of Beamer, Asanovic and
// Patterson (2012), and reading lists from host memory that of min-2020.
#include "penstock/core/clock.hpp"
#include "penstock/graph/bfs/bfs_gpu.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_gpu_state.hpp"

namespace penstock {
namespace {

/// Memory that the searches of one graph share.
struct BfsWork {
  explicit BfsWork(GpuGraph& g)
      : words(gpu::bit_words(g.vertices())),
        levels(g.take<Index>(g.vertices(), "the levels")),
        list(g.take<Index>(g.vertices(), "the frontier")),
        open_list(g.take<Index>(g.vertices(), "the frontier")),
        starts(g.take<Index>(gpu::compact_blocks(words) + 1, "the frontier")),
        bits(g.take<gpu::Bits>(5 * words, "the visited vertices")),
        segments(g.take<gpu::Segment>(gpu::most_segments(g.edges()), "the cut lists")),
        counts(g.take<gpu::BfsCounts>(1, "counters")),
        small(g.take<gpu::SmallCounts>(3, "counters")),
        seen(allocate<gpu::BfsCounts>(1, {Memory::pinned, 0})) {}

  /// What it takes of the graph's budget; the members that only some searches ask for are made by these.
  static std::int64_t bytes(const GpuGraph& g, bool predecessors, bool bounds) {
    const auto n = g.vertices(), words = gpu::bit_words(n);
    return 4 * (predecessors ? 4 : 3) * n + 4 * (gpu::compact_blocks(words) + 1) + 20 * words +
           (bounds ? 2 : 1) * segment_bytes(g) +
           std::int64_t(sizeof(gpu::BfsCounts) + 3 * sizeof(gpu::SmallCounts));
  }
  static std::int64_t segment_bytes(const GpuGraph& g) {
    return gpu::most_segments(g.edges()) * std::int64_t(sizeof(gpu::Segment));
  }
  /// The work of a search, with the members that it asks for. Before the cache, which gives way to what is taken, and before views,
  /// which point into it.
  static BfsWork& of(GpuGraph& g, bool predecessors, bool bounds) {
    const auto all = bytes(g, predecessors, bounds);
    const auto* known = g.known_work<BfsWork>();
    const auto there = known ? bytes(g, known->parents.data, known->open_segments.data) : 0;
    g.make_room(std::max<std::int64_t>(0, all - there), all);
    auto& work = g.work<BfsWork>();
    if (predecessors && !work.parents.data) work.parents = g.take<Index>(g.vertices(), "the predecessors");
    if (bounds && !work.open_segments.data)
      work.open_segments = g.take<gpu::Segment>(gpu::most_segments(g.edges()), "the cut lists");
    return work;
  }

  gpu::BfsState state(GpuGraph& g) const {
    const auto part = [&](int i) { return bits.data + i * words; };
    return {.vertices = g.vertices(),
            .words = words,
            .levels = levels.data,
            .visited = part(0),
            .before = part(1),
            .front = part(2),
            .own_front = part(2),
            .all_visited = part(0),
            .open = part(3),
            .list = list.data,
            .open_list = open_list.data,
            .starts = starts.data,
            .segments = segments.data,
            .open_segments = open_segments.data ? open_segments.data : segments.data,
            .counts = counts.data,
            .small = small.data};
  }
  gpu::Bits* done() const { return bits.data + 4 * words; }

  std::int64_t words;
  Array<Index> levels, list, open_list, starts, parents;
  Array<gpu::Bits> bits;
  Array<gpu::Segment> segments, open_segments;  // one for both where only one of them is used in a level
  Array<gpu::BfsCounts> counts;
  Array<gpu::SmallCounts> small;
  Array<gpu::BfsCounts> seen;         // the copy that the host reads
  const GpuGraph* done_of = nullptr;  // the graph whose vertices without edges `done` marks
  bool marked = false;
  std::int64_t candidates = 0;  // vertices that a search can reach
};

bool asks_any(const BfsGpuOptions& options) {
  return options.method != BfsMethod::level_synchronous && options.sample > 0;
}

class BfsRun {
 public:
  BfsRun(GpuGraph& out, GpuGraph* in, const BfsGpuOptions& options)
      : g_(out),
        in_(in),
        options_(options),
        work_(BfsWork::of(out, options.predecessors, far_ledger().bounds())),
        s_(work_.state(out)) {
    if (options.predecessors) s_.parents = s_.all_parents = work_.parents.data;
    if (asks_any(options)) out.make_search_cache();
    out_view_ = view_of(out), in_view_ = view_of(in ? *in : out);
    access_ = out.access_or_best(options.access);
    ledger_ = far_ledger();
    s_.near = !ledger_.bounds();
    require(
        !in || in->is_packed() == out.is_packed(),
        "bfs: the edges are packed and the reversed ones are not, or vice versa: give both one placement");
    mark_done();
  }

  BfsGpuResult run(Index source) {
    const auto begin = Clock::now();
    if (options_.count) clear_counts();
    fill_async(s_.levels, 0xff, 4 * g_.vertices(), stream());  // kUnreached
    if (s_.parents) gpu::fill_numbers(s_.parents, g_.vertices(), kNoPredecessor, stream());
    options_.method == BfsMethod::level_synchronous ? scan_all(source) : search(source);
    synchronize(stream());
    result_.seconds = since(begin);
    if (options_.count) {
      result_.requests = g_.counts();
      if (in_ && in_ != &g_)
        for (int i = 0; i < 4; ++i) result_.requests.requests[i] += in_->counts().requests[i];
    }
    return result_;
  }

  void bring_back() {
    const auto begin = Clock::now();
    bool waits = bring(s_.levels, options_.levels_to, "levels", result_.levels);
    if (s_.parents)
      waits |= bring(s_.parents, options_.predecessors_to, "predecessors", result_.predecessors);
    if (waits) synchronize(stream());
    result_.copy_seconds = since(begin);
  }
  BfsGpuResult take() { return std::move(result_); }

 private:
  Stream stream() const { return g_.stream(); }
  const GpuGraph& lists_in() const { return in_ ? *in_ : g_; }  // that bottom-up steps read
  LinkLedger far_ledger() const { return LinkLedger(std::max(g_.far_bytes(), lists_in().far_bytes())); }
  ListView view_of(const GpuGraph& g) const {
    ListView view = g.view();
    if (options_.sample == 0) view.sample = nullptr, view.sample_size = 0;
    return view;
  }

  void clear_counts() {
    g_.clear_counts();
    if (in_ && in_ != &g_) in_->clear_counts(), synchronize(in_->stream());
  }

  /// Takes a result to where the caller wants it, or to the host, which then has to wait: true.
  bool bring(const Index* from, const ResultTo& to, std::string_view what, Array<Index>& result) {
    if (to) deliver(to, stream(), what, from, 4 * g_.vertices());
    const bool counted = options_.method == BfsMethod::level_synchronous;  // by the host
    if (to && !counted) return false;
    result = take_result(from);
    return true;
  }

  Array<Index> take_result(const Index* from) {
    const auto bytes = 4 * g_.vertices();
    auto owner = reuse_bytes(bytes, {Memory::pinned, 0});
    copy_async(owner.get(), from, bytes, stream());
    return {static_cast<Index*>(owner.get()), g_.vertices(), {Memory::pinned, 0}, owner};
  }

  /// Marks the vertices that no edge leads to, which need never be looked at. Once for a graph.
  void mark_done() {
    if (work_.marked && work_.done_of == in_) return;
    fill_async(s_.counts, 0, sizeof(gpu::BfsCounts), stream());
    if (in_) {
      gpu::mark_edgeless(in_view_, work_.done(), &s_.counts->open, stream());
      look();
      work_.candidates = work_.seen.data->open;
    } else {
      fill_async(work_.done(), 0, 4 * s_.words, stream());
      if (const auto tail = g_.vertices() & 31) {
        const auto beyond = ~gpu::Bits(0) << tail;
        copy_async(work_.done() + s_.words - 1, &beyond, 4, stream());
        synchronize(stream());
      }
      work_.candidates = g_.vertices();
    }
    work_.marked = true, work_.done_of = in_;
  }

  /// Waits for the device and returns its counters. The host waits only here, once in a level.
  const gpu::BfsCounts& look() {
    copy_async(work_.seen.data, s_.counts, sizeof(gpu::BfsCounts), stream());
    synchronize(stream());
    poll_interrupt();
    return *work_.seen.data;
  }

  void search(Index source) {
    copy_async(s_.visited, work_.done(), 4 * s_.words, stream());
    copy_async(s_.before, work_.done(), 4 * s_.words, stream());
    gpu::begin_search(s_, source, stream());
    fill_async(s_.counts, 0, sizeof(gpu::BfsCounts), stream());
    gpu::next_frontier(out_view_, s_, 0, ledger_.bounds(), stream());
    auto now = look();
    result_.reached = now.frontier;
    for (Index depth = 0; now.frontier > 0;) {
      if (is_small(now.frontier, std::int64_t(now.long_edges), s_.near, now.segments * gpu::kSegment)) {
        now = small(now, depth);
        if (now.frontier == 0) break;
        fill_async(s_.counts, 0, sizeof(gpu::BfsCounts), stream());
        gpu::next_frontier(out_view_, s_, depth, ledger_.bounds(), stream());
        now = look();
        continue;
      }
      now = level(now, ++depth);
      result_.reached += now.frontier;
      if (now.frontier > 0) result_.depth = depth;
    }
  }

  gpu::BfsCounts small(const gpu::BfsCounts& from, Index& depth) {
    const auto begin = Clock::now();
    gpu::small_levels(out_view_, s_, from.frontier, depth, access_, options_.count, stream());
    const auto& now = look();
    result_.steps.push_back({.kind = BfsStepKind::small,
                             .first_level = depth + 1,
                             .levels = now.depth - depth,
                             .frontier = from.frontier,
                             .edges = std::int64_t(from.edges),
                             .seconds = since(begin)});
    depth = result_.depth = now.depth;
    result_.reached += now.reached;
    return now;
  }

  gpu::BfsCounts level(const gpu::BfsCounts& from, Index depth) {
    const auto begin = Clock::now();
    const auto unvisited = double(work_.candidates - result_.reached);
    const double mean_degree = double(g_.edges()) / double(std::max<std::int64_t>(1, work_.candidates));
    // Packed lists are mostly near, or they would have been no better than others.
    const bool near = s_.near || lists_in().is_packed();
    const double entry_bytes = lists_in().far_entry_bytes();
    const double spared = far_bytes(double(from.far_edges), from.far_lists, g_.far_entry_bytes());
    const auto costs = near_costs(
        g_.is_packed(), in_view_.sample_size > 0,
        double(lists_in().far_bytes()) / (entry_bytes * double(std::max<std::int64_t>(1, g_.edges()))));
    const bool asks = near ? asks_near(from.frontier, double(from.edges), spared, double(g_.edges()),
                                       unvisited, mean_degree, costs, doubt_)
                           : asks_samples(from.frontier, double(from.link_edges), unvisited);
    const bool turn = options_.method == BfsMethod::automatic && asks;
    const bool up = turn && in_;
    if (turn && !in_) result_.missed += std::int64_t(from.edges);
    fill_async(s_.counts, 0, sizeof(gpu::BfsCounts), stream());
    if (up) {
      gpu::ask_samples(in_view_, s_, stream());
      gpu::choose_way(in_view_, s_,
                      {.frontier = double(from.frontier),
                       .edges = double(from.edges),
                       .long_edges = double(from.link_edges),
                       .all_edges = double(g_.edges()),
                       .mean_degree = mean_degree,
                       .factor = ledger_.factor(),
                       .spare = ledger_.spare(),
                       .bounds = ledger_.bounds(),
                       .near = near,
                       .costs = costs,
                       .far_bytes = spared,
                       .bytes_of_entry = entry_bytes},
                      stream());
      const auto limited = ledger_.bounds() ? float(entry_bytes) : 0.0f;
      gpu::step_up(in_view_, s_, reach_of(g_.edges(), lists_in().in_core()), limited, options_.count,
                   stream());
    }
    gpu::step_down(out_view_, s_, {from.frontier, std::int64_t(from.edges), from.segments}, up, access_,
                   options_.count, stream());
    gpu::next_frontier(out_view_, s_, depth, ledger_.bounds(), stream());
    const auto& now = look();
    if (up && now.claimed > 0)
      ledger_.add(
          double(now.spent),
          up_cost(near ? now.open_far : now.open, double(from.edges), double(g_.edges()), mean_degree),
          spared, now.down != 0);
    if (up) doubt_ = now.down ? 2 * doubt_ : 1;
    const auto kind = !up ? BfsStepKind::top_down : now.down ? BfsStepKind::mixed : BfsStepKind::bottom_up;
    result_.steps.push_back({.kind = kind,
                             .first_level = depth,
                             .levels = now.frontier > 0,
                             .frontier = from.frontier,
                             .edges = std::int64_t(from.edges),
                             .open = now.open,
                             .seconds = since(begin)});
    return now;
  }

  void scan_all(Index source) {
    const Index zero = 0;
    copy_async(s_.levels + source, &zero, 4, stream());
    Index* const changed = &s_.counts->open;
    for (Index depth = 0;; ++depth) {
      const auto begin = Clock::now();
      fill_async(s_.counts, 0, sizeof(gpu::BfsCounts), stream());
      gpu::scan_level(out_view_, s_.levels, depth, changed, access_, options_.count, stream());
      if (look().open == 0) break;
      result_.depth = depth + 1;
      result_.steps.push_back({.kind = BfsStepKind::scan, .first_level = depth + 1, .seconds = since(begin)});
    }
  }

  GpuGraph& g_;
  GpuGraph* in_;
  BfsGpuOptions options_;
  BfsWork& work_;
  gpu::BfsState s_;
  ListView out_view_, in_view_;
  Access access_ = Access::aligned;
  LinkLedger ledger_;
  double doubt_ = 1;  // doubled by a level whose samples were asked in vain
  BfsGpuResult result_;
};

void check_search(const GpuGraph& out, const GpuGraph* in, Index source, const BfsGpuOptions& options) {
  require(source >= 0 && source < out.vertices(), "bfs: source " + std::to_string(source) +
                                                      " is outside a graph of " +
                                                      std::to_string(out.vertices()) + " vertices");
  require(!in || (in->vertices() == out.vertices() && in->where() == out.where()),
          "bfs: the reversed edges are of another graph or on another GPU");
  require(options.method != BfsMethod::level_synchronous || !options.predecessors,
          "bfs: the level-synchronous method finds no predecessors");
}

}  // namespace

BfsGpuResult bfs_gpu(GpuGraph& out, GpuGraph* in, Index source, const BfsGpuOptions& options) {
  check_search(out, in, source, options);
  const GraphTurn turn(out, in);
  if (asks_any(options)) {
    out.make_search_sample(options.sample);
    if (in && in != &out) in->make_search_sample(options.sample);
  }
  try {
    BfsRun run(out, in, options);
    auto found = run.run(source);
    run.bring_back();
    auto result = run.take();
    if (options.method == BfsMethod::level_synchronous)
      for (const Index level : result.levels.span()) result.reached += level != kUnreached;
    return result;
  } catch (...) {
    drain(out.stream());
    throw;
  }
}

}  // namespace penstock
