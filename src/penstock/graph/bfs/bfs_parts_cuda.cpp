// A search over several GPUs. Each GPU has bitmaps of all vertices (the frontier, and the visited vertices as far as it
// knows), and everything else for its own range of vertices alone. In a bottom-up step, the GPU that has a vertex settles it.
// In a top-down step, a GPU sets the bits of all vertices that its edges lead to, and the GPU that has a vertex collects its
// bits. After either step all GPUs get the words of the new frontier. Host threads meet to be sure that an event has been
// recorded before another stream waits for it.
#include "penstock/core/clock.hpp"
#include "penstock/graph/bfs/bfs_parts.hpp"

#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_parts_state.hpp"
#include "penstock/graph/gpu/gpu_team.hpp"

namespace penstock {
namespace {

using gpu::BfsCounts;
/// The memory that one part keeps between searches.
struct PartWork {
  explicit PartWork(GpuGraph& g)
      : words(gpu::bit_words(g.vertices())),
        all_words(gpu::bit_words(g.all_vertices())),
        levels(g.take<Index>(g.vertices(), "the levels")),
        list(g.take<Index>(g.vertices(), "the frontier")),
        open_list(g.take<Index>(g.vertices(), "the frontier")),
        starts(g.take<Index>(gpu::compact_blocks(words) + 1, "the frontier")),
        own_bits(g.take<gpu::Bits>(4 * words, "the visited vertices")),
        all_bits(g.take<gpu::Bits>(2 * all_words, "the visited vertices of the whole graph")),
        segments(g.take<gpu::Segment>(gpu::most_segments(g.edges()), "the cut lists")),
        counts(g.take<BfsCounts>(1, "counters")),
        seen(allocate<BfsCounts>(1, {Memory::pinned, 0})),
        stepped(g.where()),
        found(g.where()) {}

  /// That of a part; what else its graph keeps makes room for it, and for what this search asks for besides.
  static PartWork& of(GpuGraph& g, Offset in_edges, bool predecessors) {
    const auto n = g.vertices(), all = g.all_vertices(), words = gpu::bit_words(n);
    const auto cut = [](Offset edges) {
      return gpu::most_segments(edges) * std::int64_t(sizeof(gpu::Segment));
    };
    const auto parents = predecessors ? 4 * all : 0;
    const auto bytes = 12 * n + 4 * (gpu::compact_blocks(words) + 1) + 16 * words + 8 * gpu::bit_words(all) +
                       cut(g.edges()) + cut(in_edges) + std::int64_t(sizeof(BfsCounts)) + parents;
    auto more = bytes;
    if (const auto* known = g.known_work<PartWork>())
      more =
          (known->parents.data ? 0 : parents) +
          (known->open_segments.bytes() < cut(in_edges) ? cut(in_edges) : 0);  // the reversed edges are new
    g.make_room(more, bytes);
    return g.work<PartWork>();
  }

  void make_open_segments(GpuGraph& g, Offset edges) {
    const auto most = gpu::most_segments(edges);
    if (open_segments.size >= most) return;
    g.give_back(open_segments);
    open_segments = g.take<gpu::Segment>(most, "the cut lists");
  }

  gpu::BfsState state(const GpuGraph& g) const {
    const auto first_word = g.first_vertex() / 32;
    return {.vertices = g.vertices(),
            .words = words,
            .levels = levels.data,
            .visited = all_bits.data + first_word,
            .before = own_bits.data,
            .front = all_bits.data + all_words,
            .own_front = all_bits.data + all_words + first_word,
            .all_visited = all_bits.data,
            .first = static_cast<Index>(g.first_vertex()),
            .open = own_bits.data + words,
            .list = list.data,
            .open_list = open_list.data,
            .starts = starts.data,
            .segments = segments.data,
            .open_segments = open_segments.data,
            .counts = counts.data};
  }
  gpu::Bits* done() const { return own_bits.data + 2 * words; }
  gpu::Bits* arrived() const { return own_bits.data + 3 * words; }  // words that another GPU sent

  std::int64_t words, all_words;
  Array<Index> levels, list, open_list, starts, parents;  // parents are those of all vertices of the graph
  Array<gpu::Bits> own_bits, all_bits;
  Array<gpu::Segment> segments, open_segments;  // these are of the reversed edges
  Array<BfsCounts> counts, seen;
  OwnedEvent stepped, found;  // the edges have been followed; the words of the new frontier are there
  const GpuGraph* done_of = nullptr;
  bool marked = false;
  std::int64_t candidates = 0;
};

/// The data that the threads of one search share. A member writes its own entries before a meeting, and others read them after
/// it.
struct Together {
  explicit Together(int members) : team(members), entries(std::size_t(members)) {}

  struct Entry {
    gpu::BfsState state;
    Event stepped, found;
    BfsCounts counts[2];  // used in turn: one may be read while the other is written
    std::int64_t candidates = 0;
    std::int64_t far = 0;                            // bytes of lists that are not on the GPU
    double out_entry_bytes = 0, in_entry_bytes = 0;  // of an entry of these; 0: all lists are there
    LinkCounts requests;
  };
  Team team;
  std::vector<Entry> entries;
  // Written by the first member, except the arrays, of which each member writes its range.
  BfsGpuResult result;
};

/// The sums of the counters of all parts.
struct Sums {
  std::int64_t frontier = 0, open = 0, edges = 0, long_edges = 0;
  double far_bytes = 0,
         open_bytes = 0;  // over the link: the frontier's lists, and those that probes may read
  double spent = 0;       // bytes that bottom-up steps have read over the link
  bool down = false;      // whether one of them has been given up
};

class Member {
 public:
  Member(Together& all, GpuParts& out, GpuParts* in, int me, const BfsGpuOptions& options)
      : all_(all),
        g_(out.part(me)),
        in_(in ? &in->part(me) : nullptr),
        options_(options),
        me_(std::size_t(me)),
        all_edges_(out.edges()) {}

  void run(Index source) {
    try {
      prepare();
      all_.team.meet();
      std::int64_t far = 0;
      for (const auto& entry : all_.entries) candidates_ += entry.candidates, far += entry.far;
      ledger_ = LinkLedger(far);
      const auto begin = Clock::now();
      search(source);
      if (lead()) all_.result.seconds = since(begin);
      bring_back();
      all_.team.meet();  // from here on no member reads the memory of another
    } catch (...) {
      drain(g_.stream());
      throw;
    }
  }

 private:
  Stream stream() const { return g_.stream(); }
  bool lead() const { return me_ == 0; }
  Together::Entry& mine() { return all_.entries[me_]; }
  template <class F>
  // Begins with the next member, so that not all copy from the same GPU at once.
  void each_other(F&& f) const {
    const auto members = all_.entries.size();
    for (std::size_t k = 1; k < members; ++k) f(all_.entries[(me_ + k) % members]);
  }
  ListView view_of(const GpuGraph& g) const {
    ListView view = g.view();
    if (options_.sample == 0) view.sample = nullptr, view.sample_size = 0;
    return view;
  }

  void prepare() {
    if (options_.sample > 0) {
      g_.make_search_sample(options_.sample, true);
      if (in_ && in_ != &g_) in_->make_search_sample(options_.sample, true);
    }
    work_ = &PartWork::of(g_, (in_ ? *in_ : g_).edges(), options_.predecessors);
    work_->make_open_segments(g_, (in_ ? *in_ : g_).edges());
    s_ = work_->state(g_);
    if (options_.predecessors) {
      if (!work_->parents.data)
        work_->parents = g_.take<Index>(g_.all_vertices(), "the predecessors of all vertices");
      s_.all_parents = work_->parents.data;
      s_.parents = s_.all_parents + g_.first_vertex();
      gpu::fill_numbers(s_.all_parents, g_.all_vertices(), kNoPredecessor, stream());
    }
    out_view_ = view_of(g_);
    in_view_ = view_of(in_ ? *in_ : g_);
    access_ = g_.access_or_best(options_.access);
    if (options_.count) {
      g_.clear_counts();
      if (in_ && in_ != &g_) in_->clear_counts(), synchronize(in_->stream());
    }
    mark_done();
    const auto& in = in_ ? *in_ : g_;
    const auto entry_bytes = [](const GpuGraph& g) { return g.in_core() ? 0 : g.far_entry_bytes(); };
    mine() = {.state = s_,
              .stepped = work_->stepped,
              .found = work_->found,
              .counts = {},
              .candidates = work_->candidates,
              .far = std::max(g_.far_bytes(), in.far_bytes()),
              .out_entry_bytes = entry_bytes(g_),
              .in_entry_bytes = entry_bytes(in),
              .requests = {}};
  }

  /// Marks the part's vertices that no edge leads to, which need never be looked at.
  void mark_done() {
    if (work_->marked && work_->done_of == in_) return;
    fill_async(s_.counts, 0, sizeof(BfsCounts), stream());
    work_->candidates = g_.vertices();
    if (in_) {
      gpu::mark_edgeless(in_view_, work_->done(), &s_.counts->open, stream());
      work_->candidates = read_counts().open;
    } else {
      fill_async(work_->done(), 0, 4 * s_.words, stream());
      if (const auto tail = g_.vertices() & 31) {
        const auto beyond = ~gpu::Bits(0) << tail;
        copy_async(work_->done() + s_.words - 1, &beyond, 4, stream());
        synchronize(stream());
      }
    }
    work_->marked = true, work_->done_of = in_;
  }

  const BfsCounts& read_counts() {
    copy_async(work_->seen.data, s_.counts, sizeof(BfsCounts), stream());
    synchronize(stream());
    if (lead()) poll_interrupt();
    return *work_->seen.data;
  }

  /// Waits for the device, and returns the sums of the counters of all parts. The part's own counters are in `own_`.
  Sums look() {
    turn_ ^= 1;
    mine().counts[turn_] = own_ = read_counts();
    all_.team.meet();
    Sums sums;
    for (const auto& entry : all_.entries) {
      const auto& counts = entry.counts[turn_];
      sums.frontier += counts.frontier;
      sums.open += counts.open;
      sums.edges += std::int64_t(counts.edges);
      sums.long_edges += std::int64_t(counts.long_edges);
      sums.far_bytes += far_bytes(double(counts.far_edges), counts.far_lists, entry.out_entry_bytes);
      sums.open_bytes += far_bytes(double(counts.open_edges), counts.open_far, entry.in_entry_bytes);
      sums.spent += double(counts.spent);
      sums.down = sums.down || counts.down != 0;
    }
    return sums;
  }

  void search(Index source) {
    fill_async(s_.levels, 0xff, 4 * g_.vertices(), stream());  // kUnreached
    fill_async(s_.all_visited, 0, 4 * work_->all_words, stream());
    copy_async(s_.visited, work_->done(), 4 * s_.words, stream());
    copy_async(s_.before, work_->done(), 4 * s_.words, stream());
    if (source >= s_.first && source - s_.first < g_.vertices())
      gpu::begin_search(s_, source - s_.first, stream());
    fill_async(s_.counts, 0, sizeof(BfsCounts), stream());
    list_frontier(0);
    tell_frontier();
    auto now = look();
    reached_ = now.frontier;
    for (Index depth = 1; now.frontier > 0; ++depth) {
      now = level(now, depth);
      reached_ += now.frontier;
      if (lead() && now.frontier > 0) all_.result.depth = depth;
    }
    if (lead()) all_.result.reached = reached_;
  }

  /// Finds a level. All members take the same decisions, because they have the same sums.
  Sums level(const Sums& from, Index depth) {
    const auto begin = Clock::now();
    const auto own = own_;
    const auto frontier = double(from.frontier), long_edges = double(from.long_edges);
    const bool turn = options_.method == BfsMethod::automatic &&
                      asks_samples(frontier, long_edges, double(candidates_ - reached_));
    const bool up = turn && in_;
    if (lead() && turn && !in_) all_.result.missed += from.edges;
    fill_async(s_.counts, 0, sizeof(BfsCounts), stream());
    bool down = true;
    std::int64_t open = 0;
    if (up) {
      gpu::ask_samples(in_view_, s_, stream());
      if (mine().in_entry_bytes > 0) gpu::count_open(in_view_, s_, stream());
      const auto asked = look();
      open = asked.open;
      const auto degree = double(all_edges_) / double(std::max<std::int64_t>(1, candidates_));
      const auto cost = up_cost(double(open), double(from.edges), double(all_edges_), degree);
      down = down_cost(frontier, long_edges) < ledger_.factor() * cost;
      if (ledger_.bounds() && asked.open_bytes > 0)
        down = down || up_limit(ledger_.spare(), from.far_bytes, asked.open_bytes) == 0;
      if (!down) down = !step_up(asked, from.far_bytes, cost);
    }
    if (down) {
      gpu::step_down(out_view_, s_, {own.frontier, std::int64_t(own.edges), own.segments}, false, access_,
                     options_.count, stream());
      collect_visited();
    }
    list_frontier(depth);
    tell_frontier();
    const auto now = look();
    if (lead()) {
      const auto kind = !up ? BfsStepKind::top_down : down ? BfsStepKind::mixed : BfsStepKind::bottom_up;
      all_.result.steps.push_back({.kind = kind,
                                   .first_level = depth,
                                   .levels = now.frontier > 0,
                                   .frontier = from.frontier,
                                   .edges = from.edges,
                                   .open = open,
                                   .seconds = since(begin)});
    }
    return now;
  }

  void list_frontier(Index depth) {
    gpu::next_frontier(out_view_, s_, depth, mine().out_entry_bytes > 0, stream());
  }

  /// Probes lists. All members together read what the ledger allows, each by its share of the lists that are asked. Returns false if one
  /// has read its share: then all follow the edges of the frontier, as it may lead to that one's vertices.
  bool step_up(const Sums& asked, double spared, double expected) {
    const auto bytes = mine().in_entry_bytes;
    const auto reach = reach_of(in_->edges(), in_->in_core());
    if (!ledger_.bounds()) {
      gpu::step_up(in_view_, s_, reach, 0, options_.count, stream());
      return true;
    }
    const auto share =
        far_bytes(double(own_.open_edges), own_.open_far, bytes) / std::max(1.0, asked.open_bytes);
    // A member with a small share reads a list at least. The ledger hears of it, so it may be overdrawn so much once.
    constexpr double kLeast = 2 * kSectorBytes;
    limit_ = up_limit(ledger_.spare(), spared, asked.open_bytes) * share;
    if (share > 0) limit_ = std::max(limit_, kLeast);
    copy_async(&s_.counts->limit, &limit_, sizeof limit_, stream());
    gpu::step_up(in_view_, s_, reach, float(bytes), options_.count, stream());
    const auto now = look();
    if (now.spent > 0 || now.down) ledger_.add(now.spent, expected, spared, now.down);
    return !now.down;
  }

  /// Collects the bits of this part's vertices that the other members have reached.
  void collect_visited() {
    record(work_->stepped, stream());
    all_.team.meet();
    each_other([&](const Together::Entry& other) {
      wait(stream(), other.stepped);
      copy_async(work_->arrived(), other.state.all_visited + s_.first / 32, 4 * s_.words, stream());
      gpu::unite(s_.visited, work_->arrived(), s_.words, stream());
    });
  }

  /// Gets the other members' words of the frontier. Their vertices count as visited from now on; these include all bits of
  /// theirs that this GPU has set.
  void tell_frontier() {
    record(work_->found, stream());
    all_.team.meet();
    each_other([&](const Together::Entry& other) {
      wait(stream(), other.found);
      copy_async(s_.front + other.state.first / 32, other.state.own_front, 4 * other.state.words, stream());
    });
    gpu::unite(s_.all_visited, s_.front, work_->all_words, stream());
  }

  void bring_back() {
    const auto begin = Clock::now();
    const auto n = g_.vertices();
    auto& result = all_.result;
    copy_async(result.levels.data + s_.first, s_.levels, 4 * n, stream());
    // A vertex has the same level whichever GPU reached it, so the predecessor of any of them is right.
    if (s_.parents) {
      each_other([&](const Together::Entry& other) {
        copy_async(s_.list, other.state.all_parents + s_.first, 4 * n, stream());
        gpu::fill_parents(s_.parents, s_.list, n, stream());
      });
      copy_async(result.predecessors.data + s_.first, s_.parents, 4 * n, stream());
    }
    synchronize(stream());
    if (options_.count) {
      auto& requests = mine().requests;
      requests = g_.counts();
      if (in_ && in_ != &g_)
        for (int i = 0; i < 4; ++i) requests.requests[i] += in_->counts().requests[i];
    }
    if (lead()) result.copy_seconds = since(begin);
  }

  Together& all_;
  GpuGraph& g_;
  GpuGraph* in_;
  const BfsGpuOptions& options_;
  std::size_t me_;
  Offset all_edges_;
  PartWork* work_ = nullptr;
  gpu::BfsState s_;
  ListView out_view_, in_view_;
  Access access_ = Access::aligned;
  BfsCounts own_;
  LinkLedger ledger_;  // of all members together: each has the same
  double limit_ = 0;
  int turn_ = 0;
  std::int64_t candidates_ = 0, reached_ = 0;
};

void check_search(const GpuParts& out, const GpuParts* in, Index source, const BfsGpuOptions& options) {
  require(source >= 0 && source < out.vertices(), "bfs: source " + std::to_string(source) +
                                                      " is outside a graph of " +
                                                      std::to_string(out.vertices()) + " vertices");
  require(!in || in->matches(out), "bfs: the reversed edges are of another graph or on other GPUs");
  require(options.method != BfsMethod::level_synchronous,
          "bfs: the level-synchronous method runs on one GPU: name one, or choose auto or top_down");
  require(!options.levels_to && !options.predecessors_to,
          "bfs: results of several GPUs come to the host: name one GPU, or leave out= out");
}

Array<Index> result_of(std::int64_t n) {
  auto owner = reuse_bytes(4 * n, {Memory::pinned, 0});
  return {static_cast<Index*>(owner.get()), n, {Memory::pinned, 0}, owner};
}

}  // namespace

BfsGpuResult bfs_parts_gpu(GpuParts& out, GpuParts* in, Index source, const BfsGpuOptions& options) {
  check_search(out, in, source, options);
  const GraphTurn turn(out, in);
  Together all(out.count());
  all.result.levels = result_of(out.vertices());
  if (options.predecessors) all.result.predecessors = result_of(out.vertices());
  all.team.run([&](int me) { Member(all, out, in, me, options).run(source); });
  for (const auto& entry : all.entries)
    for (int i = 0; i < 4; ++i) all.result.requests.requests[i] += entry.requests.requests[i];
  return std::move(all.result);
}

}  // namespace penstock
