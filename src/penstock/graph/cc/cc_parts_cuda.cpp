// Connected components over several GPUs. The trees of all GPUs are merged before the giant tree is chosen: otherwise each GPU
// might choose another one, and an edge between two of these would be left out at both of its ends. From then on all GPUs have
// the same trees. What a GPU adds to them is known from the roots that are no roots any more, which are few links as a rule.
#include "penstock/core/clock.hpp"
#include "penstock/graph/cc/cc_parts.hpp"

#include <algorithm>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/cc/cc_gpu_state.hpp"
#include "penstock/graph/gpu/gpu_team.hpp"

namespace penstock {
namespace {

using gpu::CcCounts;
using gpu::CcState;
using gpu::ListPiece;
using gpu::TreeLink;

/// How many parents are copied at once if a GPU cannot read the memory of another.
constexpr std::int64_t kStaged = 16 << 20;

/// How many links of 8 bytes a part may add and send one by one; at most they take a byte for each vertex. If there are more,
/// all trees are merged again, which takes 4 bytes a vertex in log2(parts) steps.
constexpr std::int64_t kLinks = 1 << 20;
constexpr std::int64_t kVerticesOfLink = 8;
std::int64_t room_for_links(std::int64_t vertices) {
  return std::min(kLinks, vertices / kVerticesOfLink + 1);
}

/// The memory that one part keeps between calls.
struct CcPartWork {
  explicit CcPartWork(GpuGraph& g)
      : parent(g.take<Index>(g.all_vertices(), "the parents of all vertices")),
        roots(g.take<gpu::Bits>(gpu::bit_words(g.all_vertices()), "the roots' bits")),
        links(g.take<TreeLink>(room_for_links(g.all_vertices()), "links of trees")),
        counts(g.take<CcCounts>(1, "counters")),
        ready(g.where()) {
    if (g.first_vertex() > 0) return;  // only the first part numbers the trees
    ranks = g.take<Index>(gpu::bit_words(g.all_vertices()), "the roots' ranks");
  }

  /// That of a part; what else its graph keeps makes room for it.
  static CcPartWork& of(GpuGraph& g, Offset edges) {
    const auto all = g.all_vertices();
    const auto cut = gpu::most_pieces(edges) * std::int64_t(sizeof(ListPiece));
    const auto bytes = 4 * all + 8 * gpu::bit_words(all) +
                       room_for_links(all) * std::int64_t(sizeof(TreeLink)) + cut +
                       std::int64_t(sizeof(CcCounts));
    auto more = bytes;
    if (const auto* known = g.known_work<CcPartWork>())
      more = known->pieces.bytes() < cut ? cut : 0;  // the reversed edges are new
    g.make_room(more, bytes);
    return g.work<CcPartWork>();
  }

  /// Makes room for the pieces of long lists, of edges out or of reversed edges, whichever has more.
  void make_pieces(GpuGraph& g, Offset edges) {
    const auto most = gpu::most_pieces(edges);
    if (pieces.size >= most) return;
    g.give_back(pieces);
    pieces = g.take<ListPiece>(most, "the pieces of long lists");
  }
  void make_staged(GpuGraph& g) {
    if (!staged.data) staged = g.take<Index>(std::min(kStaged, parent.size), "parents that are copied");
  }

  Array<Index> parent, ranks, staged;
  Array<gpu::Bits> roots;
  Array<TreeLink> links;
  Array<ListPiece> pieces;
  Array<CcCounts> counts;
  OwnedEvent ready;  // from then on others may read
};

/// The data that the threads of one call share. A member writes its own entry before a meeting, and others read it after it.
struct JoinedTogether {
  explicit JoinedTogether(int members) : team(members), entries(std::size_t(members)) {}

  struct Entry {
    CcState state;
    Where where;
    Event ready;
    const TreeLink* links = nullptr;
    CcCounts counts;
    LinkCounts requests;
  };
  Team team;
  std::vector<Entry> entries;
  // Written by the first member, except the labels, of which each member writes its range.
  CcGpuResult result;
};

class JoiningMember {
 public:
  JoiningMember(JoinedTogether& all, GpuParts& out, GpuParts* in, int me, const CcGpuOptions& options)
      : all_(all),
        g_(out.part(me)),
        in_(in && in != &out ? &in->part(me) : nullptr),
        both_(in != nullptr),
        options_(options),
        me_(me) {}

  void run() {
    try {
      prepare();
      all_.team.meet();
      const auto begin = Clock::now();
      find();
      all_.team.meet();
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
  int rounds() const { return pair_rounds(all_.team.members()); }
  JoinedTogether::Entry& entry(int i) { return all_.entries[std::size_t(i)]; }
  JoinedTogether::Entry& mine() { return entry(me_); }
  template <class F>
  void each(F&& f) {
    f(g_);
    if (in_) f(*in_);
  }
  ListView view(const GpuGraph& g) const {
    auto view = g.view();
    if (options_.sample == 0) view.sample = nullptr, view.sample_size = 0;
    return view;
  }

  void prepare() {
    each([&](GpuGraph& g) {
      if (options_.sample > 0) g.make_any_sample(options_.sample);
      if (options_.count) g.clear_counts(), synchronize(g.stream());
    });
    const auto edges = std::max(g_.edges(), in_ ? in_->edges() : 0);
    work_ = &CcPartWork::of(g_, edges);
    work_->make_pieces(g_, edges);
    s_ = {.vertices = g_.all_vertices(),
          .first = g_.first_vertex(),
          .parent = work_->parent.data,
          .roots = work_->roots.data,
          .ranks = work_->ranks.data,
          .pieces = work_->pieces.data,
          .counts = work_->counts.data};
    const CcCounts fresh;
    copy_async(s_.counts, &fresh, sizeof fresh, stream());
    synchronize(stream());
    mine() = {s_, g_.where(), work_->ready, work_->links.data, {}, {}};
  }

  void find() {
    const bool count = options_.count;
    gpu::plant(s_, stream());
    gpu::hook_first(view(g_), s_, count, stream());
    gpu::flatten(s_, stream());
    gpu::link_roots(view(g_), s_, count, stream());
    gpu::flatten(s_, stream());
    gather();
    if (both_ && lead()) gpu::find_giant(s_, stream());
    spread();
    gpu::note_roots(s_, stream());
    each([&](GpuGraph& g) { gpu::link_sampled(view(g), s_, count, stream()); });
    each([&](GpuGraph& g) {
      gpu::link_lists(view(g), s_, g.access_or_best(options_.access), count, stream());
    });
    gpu::list_links(s_, work_->links.data, Index(work_->links.size), stream());
    mine().counts = read_counts();  // the host waits
    all_.team.meet();
    const bool few =
        std::ranges::all_of(all_.entries, [&](const auto& e) { return e.counts.links <= work_->links.size; });
    if (few) {
      if (lead()) collect_links();
    } else {
      gpu::flatten(s_, stream());
      gather();
    }
    if (!lead()) return;
    gpu::number_trees(s_, stream());
    all_.result.count = read_counts().components;
  }

  /// Adds the links of the other members, which have come to the end of their streams and wait.
  void collect_links() {
    for (int i = 1; i < all_.team.members(); ++i) {
      const auto count = entry(i).counts.links;
      if (count == 0) continue;
      copy_async(work_->links.data, entry(i).links, count * std::int64_t(sizeof(TreeLink)), stream());
      gpu::add_links(s_, work_->links.data, count, stream());
    }
  }

  /// Records the event for which other members wait: everything that is on the stream so far.
  void tell() {
    record(work_->ready, stream());
    all_.team.meet();
  }

  /// Merges the trees of all members into those of the first. A member does not write the trees that it has given until the
  /// merged trees come back.
  void gather() {
    for (int round = 0; round < rounds(); ++round) {
      tell();
      const int giver = pair_giver(me_, round, all_.team.members());
      if (giver < 0) continue;
      wait(stream(), entry(giver).ready);
      merge(entry(giver));
      gpu::flatten(s_, stream());
    }
  }

  void merge(const JoinedTogether::Entry& other) {
    const auto n = s_.vertices;
    if (enable_peer(g_.where(), other.where) && peers_reach(other.state.parent)) {
      gpu::merge_trees(s_, other.state.parent, 0, n, stream());
      return;
    }
    work_->make_staged(g_);
    const auto step = work_->staged.size;
    for (std::int64_t first = 0; first < n; first += step) {
      const auto last = std::min(first + step, n);
      copy_async(work_->staged.data, other.state.parent + first, 4 * (last - first), stream());
      gpu::merge_trees(s_, work_->staged.data, first, last, stream());
    }
  }

  /// Copies the trees of the first member to all others, and says which tree is the giant one.
  void spread() {
    for (int round = rounds() - 1; round >= 0; --round) {
      tell();
      const int from = pair_returner(me_, round);
      if (from < 0) continue;
      const auto& other = entry(from);
      wait(stream(), other.ready);
      copy_async(s_.parent, other.state.parent, 4 * s_.vertices, stream());
      copy_async(&s_.counts->giant, &other.state.counts->giant, sizeof(Index), stream());
    }
    tell();
    // Trees must not change while others copy them.
    for (int i = 0; i < all_.team.members(); ++i)
      if (i != me_) wait(stream(), entry(i).ready);
    all_.team.meet();  // all have queued their waits before any of these events is recorded again
  }

  CcCounts read_counts() {
    CcCounts counts;
    copy_async(&counts, s_.counts, sizeof counts, stream());
    synchronize(stream());
    if (lead()) poll_interrupt();
    return counts;
  }

  /// Each member copies the labels of its own range to the host over its own link.
  void bring_back() {
    const auto begin = Clock::now();
    const auto bytes = 4 * g_.vertices();
    auto* own = s_.parent + s_.first;
    // The first member has numbered the trees.
    if (!lead()) copy_async(own, entry(0).state.parent + s_.first, bytes, stream());
    copy_async(all_.result.labels.data + s_.first, own, bytes, stream());
    synchronize(stream());
    if (options_.count) {
      auto& requests = mine().requests;
      requests = g_.counts();
      const auto more = in_ ? in_->counts() : LinkCounts{};
      for (int i = 0; i < 4; ++i) requests.requests[i] += more.requests[i];
    }
    if (lead()) all_.result.copy_seconds = since(begin);
  }

  JoinedTogether& all_;
  GpuGraph& g_;
  GpuGraph* in_;  // null also if it is g_
  bool both_;
  const CcGpuOptions& options_;
  int me_;
  CcPartWork* work_ = nullptr;
  CcState s_;
};

}  // namespace

CcGpuResult cc_parts_gpu(GpuParts& out, GpuParts* in, const CcGpuOptions& options) {
  require(!in || in->matches(out),
          "connected_components: the reversed edges are of another graph or on other GPUs");
  require(options.method == CcMethod::afforest,
          "connected_components: label propagation runs on one GPU: name one, or choose method=\"auto\"");
  require(!options.labels_to,
          "connected_components: labels of several GPUs come to the host: name one GPU, or leave out= out");
  const GraphTurn turn(out, in);
  const auto n = out.vertices();
  JoinedTogether all(out.count());
  auto& r = all.result;
  const auto owner = reuse_bytes(std::max<std::int64_t>(n, 1) * 4, {Memory::pinned, 0});
  r.labels = {static_cast<Index*>(owner.get()), n, {Memory::pinned, 0}, owner};
  if (n == 0) return std::move(r);
  all.team.run([&](int me) { JoiningMember(all, out, in, me, options).run(); });
  r.missed = in ? 0 : out.edges();
  for (const auto& entry : all.entries) {
    r.lists += static_cast<std::int64_t>(entry.counts.lists);
    r.entries += static_cast<std::int64_t>(entry.counts.entries);
    for (int i = 0; i < 4; ++i) r.requests.requests[i] += entry.requests.requests[i];
  }
  return std::move(r);
}

}  // namespace penstock
