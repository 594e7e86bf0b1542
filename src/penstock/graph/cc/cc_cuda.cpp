// The driver of connected components on a GPU. Afforest (Sutton, Ben-Nun, Barak 2018): trees are made from the neighbour
// sample in device memory; the giant tree is found by drawing vertices; then lists are read for vertices outside the giant
// tree only (cc_lists_gpu.cu says why that is enough), and trees become labels. The host waits once, at the end. Label
// propagation is the baseline, as in EMOGI (min-2020).
#include "penstock/graph/cc/cc_gpu.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/cc/cc_gpu_state.hpp"

namespace penstock {
namespace {

using gpu::CcCounts;
using gpu::CcState;
using gpu::ListPiece;

/// The memory that is kept with the graph: 4 bytes and 2 bits for each vertex, and the pieces of long lists.
struct CcWork {
  static CcWork& of(GpuGraph& g) {
    if (auto* known = g.known_work<CcWork>()) return *known;
    g.make_room(4 * g.vertices() + 8 * gpu::bit_words(g.vertices()) +
                std::int64_t(sizeof(ListPiece)) * gpu::most_pieces(g.edges()) +
                std::int64_t(sizeof(CcCounts)));
    return g.work<CcWork>();
  }
  explicit CcWork(GpuGraph& g)
      : parent(g.take<Index>(g.vertices(), "the parents of the vertices")),
        roots(g.take<gpu::Bits>(gpu::bit_words(g.vertices()), "the roots' bits")),
        ranks(g.take<Index>(gpu::bit_words(g.vertices()), "the roots' ranks")),
        pieces(g.take<ListPiece>(gpu::most_pieces(g.edges()), "the pieces of long lists")),
        counts(g.take<CcCounts>(1, "counters")) {}

  CcState state() const {
    return {.vertices = parent.size,
            .parent = parent.data,
            .roots = roots.data,
            .ranks = ranks.data,
            .pieces = pieces.data,
            .counts = counts.data};
  }

  Array<Index> parent;
  Array<gpu::Bits> roots;
  Array<Index> ranks;
  Array<ListPiece> pieces;
  Array<CcCounts> counts;
};

class FinderGpu {
 public:
  FinderGpu(GpuGraph& out, GpuGraph* in, const CcGpuOptions& options)
      : out_(out),
        in_(in == &out ? nullptr : in),
        both_(in != nullptr),
        options_(options),
        stream_(out.stream()),
        s_(CcWork::of(out).state()) {}

  void afforest() {
    const bool count = options_.count;
    GpuGraph::FarLinks none;
    auto& far = view(out_).sample_size == 0 ? out_.far_links() : none;
    s_.links = far.links.data, s_.links_first = far.first, s_.links_count = far.links.size;
    s_.links_made = far.made;
    gpu::hook_first(view(out_), s_, count, stream_);
    far.made = s_.links_count > 0;
    gpu::flatten(s_, stream_);
    gpu::link_roots(view(out_), s_, count, stream_);
    gpu::flatten(s_, stream_);
    if (both_) gpu::find_giant(s_, stream_);
    each([&](GpuGraph& g) { gpu::link_sampled(view(g), s_, count, stream_); });
    each([&](GpuGraph& g) { gpu::link_lists(view(g), s_, access(g), count, stream_); });
  }

  /// Goes over the edges of the vertices that the last round moved, or over all edges if an edge is in one list only, until a
  /// round moves nothing. The host waits for each round, as in the original.
  int propagate() {
    gpu::plant(s_, stream_);
    for (int rounds = 1;; ++rounds) {
      fill_async(&s_.counts->changed, 0, sizeof(Index), stream_);
      gpu::note_roots(s_, stream_);
      gpu::hook_ends(view(out_), s_, symmetric() && rounds > 1, access(out_), options_.count, stream_);
      gpu::find_moved(view(out_), s_, stream_);
      gpu::flatten(s_, stream_);
      if (read_counts().changed == 0) return rounds;
      poll_interrupt();
    }
  }
  /// Every edge is in the lists of both of its ends.
  bool symmetric() const { return both_ && !in_; }

  void clear() {
    const CcCounts fresh;
    copy_async(s_.counts, &fresh, sizeof fresh, stream_);
    synchronize(stream_);
  }

  CcCounts read_counts() const {
    CcCounts counts;
    copy_async(&counts, s_.counts, sizeof counts, stream_);
    synchronize(stream_);
    return counts;
  }

  const CcState& state() const { return s_; }

 private:
  template <class F>
  void each(F&& f) {
    f(out_);
    if (in_) f(*in_);
  }
  ListView view(const GpuGraph& g) const {
    auto view = g.view();
    if (options_.sample == 0) view.sample = nullptr, view.sample_size = 0;
    return view;
  }
  Access access(const GpuGraph& g) const { return g.access_or_best(options_.access); }

  GpuGraph& out_;
  GpuGraph* in_;
  bool both_;
  const CcGpuOptions& options_;
  Stream stream_;
  CcState s_;
};

void check_pair(const GpuGraph& out, const GpuGraph* in) {
  if (!in || in == &out) return;
  require(in->vertices() == out.vertices() && in->edges() == out.edges(),
          "connected_components: the reversed edges are " + std::to_string(in->edges()) + " among " +
              std::to_string(in->vertices()) + " vertices, the edges " + std::to_string(out.edges()) +
              " among " + std::to_string(out.vertices()));
  require(in->where() == out.where(), "connected_components: the reversed edges are on another GPU");
}

void run(GpuGraph& out, GpuGraph* in, const CcGpuOptions& options, CcGpuResult& r) {
  const bool two = in && in != &out, trees = options.method == CcMethod::afforest;
  if (trees && options.sample > 0) {
    out.make_any_sample(options.sample);
    if (two) in->make_any_sample(options.sample);
  }
  FinderGpu find(out, in, options);  // the sample may take what other algorithms have kept
  if (options.count) out.clear_counts();
  if (options.count && two) in->clear_counts(), synchronize(in->stream());
  find.clear();

  const auto stream = out.stream();
  const OwnedEvent begin(stream.where, true), end(stream.where, true), copied(stream.where, true);
  record(begin, stream);
  if (trees) find.afforest();
  else r.rounds = find.propagate();
  gpu::number_trees(find.state(), stream);
  record(end, stream);
  const auto* labels = find.state().parent;
  if (options.labels_to) deliver(options.labels_to, stream, "labels", labels, 4 * out.vertices());
  else copy_async(r.labels.data, labels, r.labels.bytes(), stream);
  record(copied, stream);
  const auto counts = find.read_counts();
  r.count = counts.components;
  r.seconds = seconds(begin, end), r.copy_seconds = seconds(end, copied);
  if (trees || find.symmetric()) {  // otherwise the first round looks at all edges, too
    r.lists = static_cast<std::int64_t>(counts.lists) + (trees ? 0 : out.vertices());
    r.entries = static_cast<std::int64_t>(counts.entries) + (trees ? 0 : out.edges());
  } else {
    r.lists = out.vertices() * r.rounds, r.entries = out.edges() * r.rounds;
  }
  r.missed = in || !trees ? 0 : out.edges();
  if (!options.count) return;
  r.requests = out.counts();
  const auto more = two ? in->counts() : LinkCounts{};
  for (int i = 0; i < 4; ++i) r.requests.requests[i] += more.requests[i];
}

}  // namespace

CcGpuResult connected_components_gpu(GpuGraph& out, GpuGraph* in, const CcGpuOptions& options) {
  check_pair(out, in);
  const GraphTurn turn(out, in);
  const auto n = out.vertices();
  CcGpuResult r;
  if (!options.labels_to) {
    const auto owner = reuse_bytes(std::max<std::int64_t>(n, 1) * 4, {Memory::pinned});
    r.labels = {static_cast<Index*>(owner.get()), n, {Memory::pinned}, owner};
  }
  if (n == 0) return r;
  try {
    run(out, in, options, r);
  } catch (...) {
    drain(out.stream());
    throw;
  }
  return r;
}

}  // namespace penstock
