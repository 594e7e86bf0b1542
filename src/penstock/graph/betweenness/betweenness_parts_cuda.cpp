// Betweenness over several GPUs (betweenness_parts.hpp): the steps of betweenness_cuda.cpp, by a host thread for each GPU. The threads
// meet to be sure that an event has been recorded before another stream waits for it, and have the same sums, so that all take the
// same way.
#include "penstock/graph/betweenness/betweenness_parts.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/betweenness/betweenness_parts_state.hpp"
#include "penstock/graph/gpu/gpu_team.hpp"
#include "penstock/graph/gpu/taken.hpp"

namespace penstock {
namespace {

using gpu::CentralityCounts;
using gpu::CentralityState;
/// The memory of a part. Vertices of other parts have no paths of their own on the way back, so what other GPUs tell goes there.
class PartCentrality {
 public:
  PartCentrality(GpuGraph& g, int members)
      : g_(g),
        look_(allocate<CentralityCounts>(1, {Memory::pinned})),
        sizes_(allocate<Index>(members, {Memory::pinned})),
        level_(g, g.all_vertices(), "the levels of all vertices"),
        paths_(g, g.all_vertices(), "the paths to all vertices"),
        share_(g, g.all_vertices(), "the shares of all vertices"),
        next_(g, gpu::bit_words(g.all_vertices()), "the frontier's bits"),
        told_(g, g.all_vertices(), "what GPUs tell one another"),
        starts_(g, blocks(g), "the frontier's blocks"),
        order_(g, g.vertices(), "the order of the vertices"),
        arrived_(g, g.vertices(), "what other GPUs tell"),
        sums_(g, g.vertices(), "the sums of the vertices"),
        values_(g, g.vertices(), "what other GPUs tell"),
        pieces_(g, gpu::most_pieces(g.edges()), "the pieces of long lists"),
        counts_(g, 1, "counters"),
        told_sizes_(g, members, "counters"),
        ready(g.where()),
        found(g.where()),
        taken(g.where()) {
    fill_async(told_sizes_.data(), 0, told_sizes_.bytes(), g.stream());
  }
  ~PartCentrality() { drain(g_.stream()); }
  PartCentrality(const PartCentrality&) = delete;
  PartCentrality& operator=(const PartCentrality&) = delete;

  static std::int64_t bytes(const GpuGraph& g, int members) {
    return 24 * g.all_vertices() + 4 * gpu::bit_words(g.all_vertices()) + 24 * g.vertices() + 4 * blocks(g) +
           8 * gpu::most_pieces(g.edges()) + 4 * members + std::int64_t(sizeof(CentralityCounts));
  }

  CentralityState state() const {
    return {.vertices = g_.vertices(),
            .all_vertices = g_.all_vertices(),
            .first = static_cast<Index>(g_.first_vertex()),
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
  Index* told() const { return told_.data(); }        // of all vertices: lists for other parts, or of them
  Index* arrived() const { return arrived_.data(); }  // the list that another part has made for this one
  double* values() const { return values_.data(); }   // its numbers; on the way back, those of this part
  Index* told_sizes() const { return told_sizes_.data(); }
  const Index* sizes() const { return sizes_.data; }
  CentralityCounts look() const {
    copy_async(look_.data, counts_.data(), sizeof(CentralityCounts), g_.stream());
    copy_async(sizes_.data, told_sizes_.data(), sizes_.bytes(), g_.stream());
    synchronize(g_.stream());
    return *look_.data;
  }

 private:
  static std::int64_t blocks(const GpuGraph& g) {
    return gpu::compact_blocks(gpu::bit_words(g.all_vertices())) + 1;
  }

  GpuGraph& g_;
  Array<CentralityCounts> look_;
  Array<Index> sizes_;
  Taken<Index> level_;
  Taken<double> paths_, share_;
  Taken<gpu::Bits> next_;
  Taken<Index> told_, starts_, order_, arrived_;
  Taken<double> sums_, values_;
  Taken<gpu::ListPiece> pieces_;
  Taken<CentralityCounts> counts_;
  Taken<Index> told_sizes_;

 public:
  // What others copy is there: lists for them, or shares; and the vertices of a level. This part has copied the shares that it wants.
  const OwnedEvent ready, found, taken;
};

/// What the threads of one call share. A member writes its own entry before a meeting, and others read it after that.
struct Together {
  struct Entry {
    std::unique_ptr<PartCentrality> work;
    std::vector<Index> sizes;  // of the lists for the other members
    Index found = 0;
    bool too_many = false;
    LinkCounts requests;
  };
  explicit Together(int members) : team(members), entries(static_cast<std::size_t>(members)) {}
  Team team;
  std::vector<Entry> entries;
  BetweennessGpuResult
      result;  // written by the first member, except the sums, of which each writes its range
};

class Member {
 public:
  Member(Together& all, GpuParts& parts, int me, const BetweennessGpuOptions& options)
      : all_(all),
        parts_(parts),
        g_(parts.part(me)),
        me_(me),
        options_(options),
        work_(*mine().work),
        s_(work_.state()),
        access_(g_.access_or_best(options.access)) {}

  void run(std::span<const Index> sources) {
    try {
      if (options_.count) g_.clear_counts();
      fill_async(s_.sums, 0, 8 * s_.vertices, stream());
      synchronize(stream());
      all_.team.meet();
      const auto begin = Clock::now();
      for (const auto source : sources)
        if (!add(source) && lead()) all_.result.left.push_back(source);
      if (options_.scale != 1) gpu::scale_sums(s_, options_.scale, stream());
      synchronize(stream());
      const double searched = since(begin);
      copy_async(all_.result.sums.data + s_.first, s_.sums, 8 * s_.vertices, stream());
      synchronize(stream());
      if (options_.count) mine().requests = g_.counts();
      all_.team.meet();  // from here on no member reads the memory of another
      if (lead()) all_.result.seconds = searched, all_.result.copy_seconds = since(begin) - searched;
    } catch (...) {
      drain(stream());
      throw;
    }
  }

 private:
  Stream stream() const { return g_.stream(); }
  bool lead() const { return me_ == 0; }
  Together::Entry& mine() { return all_.entries[static_cast<std::size_t>(me_)]; }
  const PartCentrality& work(int i) const { return *all_.entries[static_cast<std::size_t>(i)].work; }
  Index first(int i) const { return static_cast<Index>(parts_.part(i).first_vertex()); }
  /// f(i) for the other members, beginning with the next one, so that not all copy from the same GPU at once.
  template <class F>
  void each_other(F&& f) const {
    const int members = parts_.count();
    for (int k = 1; k < members; ++k) f((me_ + k) % members);
  }
  const gpu::LevelPlaces& places(int i) const { return places_[static_cast<std::size_t>(i)]; }
  const Index* list(int i, std::int64_t d) const { return work(i).state().order + places(i).begin(d); }
  std::int64_t levels() const { return places(0).levels(); }

  bool add(Index source) {
    wait_for_others();
    if (!search(source)) return false;
    const double own = options_.endpoints ? 1 : 0;
    for (auto d = levels() - 1; d > 0; --d) {
      wait_for_others();
      gpu::add_dependencies(g_.view(), s_, list(me_, d), places(me_).size(d), Index(d), d == levels() - 1,
                            own, work_.values(), access_, options_.count, stream());
      if (d > 1) tell_shares(d);
    }
    std::int64_t reached = 0;
    for (const auto& of : places_) reached += of.reached();
    if (options_.endpoints && source >= s_.first && source - s_.first < s_.vertices)
      gpu::add_source(s_, source, double(reached - 1), stream());
    return true;
  }

  /// Before this part writes again what others may still copy.
  void wait_for_others() {
    if (copied_) each_other([&](int i) { wait(stream(), work(i).taken); });
  }

  bool search(Index source) {
    gpu::begin_source(s_, source, stream());
    places_.clear();
    for (int i = 0; i < parts_.count(); ++i) places_.emplace_back(i == parts_.owner(source) ? 1 : 0);
    for (Index depth = 0;; ++depth) {
      gpu::walk_forward(g_.view(), s_, list(me_, depth), places(me_).size(depth), depth, access_,
                        options_.count, stream());
      list_for_others();
      if (!all_are_fine()) return false;
      if (lead() && depth % kPoll == 0) poll_interrupt();
      take_paths(depth + 1);
      if (!tell_level(depth + 1)) break;
    }
    if (lead()) all_.result.levels += levels();
    return true;
  }

  /// Lists the vertices of each other part that this one has found, with the paths to them.
  void list_for_others() {
    each_other([&](int i) {
      auto* const to = work_.told() + first(i);
      auto* const count = work_.told_sizes() + i;
      gpu::compact(s_.next + first(i) / 32, gpu::bit_words(parts_.part(i).vertices()), to, s_.starts, count,
                   stream());
      gpu::pack_paths(s_, first(i), to, count, s_.share + first(i), stream());
    });
    record(work_.ready, stream());
  }
  bool all_are_fine() {
    mine().too_many = work_.look().too_many != 0;
    mine().sizes.assign(work_.sizes(), work_.sizes() + parts_.count());
    all_.team.meet();
    const bool fine = std::ranges::none_of(all_.entries, [](const auto& e) { return e.too_many; });
    if (!fine) all_.team.meet();  // all have read the flags before the next source writes them
    return fine;
  }

  void take_paths(Index depth) {
    each_other([&](int i) {
      const Index count = all_.entries[static_cast<std::size_t>(i)].sizes[static_cast<std::size_t>(me_)];
      if (count == 0) return;
      wait(stream(), work(i).ready);
      copy_async(work_.arrived(), work(i).told() + s_.first, 4 * std::int64_t(count), stream());
      copy_async(work_.values(), work(i).state().share + s_.first, 8 * std::int64_t(count), stream());
      gpu::add_paths(s_, {s_.first, work_.arrived(), count}, work_.values(), depth, stream());
    });
  }

  /// Lists the part's vertices of a level and notes those of the others. Returns false if there are none.
  bool tell_level(Index depth) {
    gpu::compact(s_.next + s_.first / 32, gpu::bit_words(s_.vertices), s_.order + places(me_).reached(),
                 s_.starts, &s_.counts->found, stream());
    record(work_.found, stream());
    mine().found = work_.look().found;
    all_.team.meet();
    std::int64_t found = 0;
    for (const auto& entry : all_.entries) found += entry.found;
    if (found == 0) return false;
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i].add(all_.entries[i].found);
    each_other([&](int i) {
      const Index count = places(i).size(depth);
      if (count == 0) return;
      wait(stream(), work(i).found);
      copy_async(work_.told() + first(i), list(i, depth), 4 * std::int64_t(count), stream());
      gpu::note_level(s_, {first(i), work_.told() + first(i), count}, depth, stream());
    });
    return true;
  }

  void tell_shares(std::int64_t depth) {
    record(work_.ready, stream());
    all_.team.meet();
    each_other([&](int i) {
      const Index count = places(i).size(depth);
      if (count == 0) return;
      wait(stream(), work(i).ready);
      auto* const values = s_.paths + first(i);
      copy_async(work_.told() + first(i), list(i, depth), 4 * std::int64_t(count), stream());
      copy_async(values, work(i).values(), 8 * std::int64_t(count), stream());
      gpu::note_shares(s_, {first(i), work_.told() + first(i), count}, values, stream());
    });
    record(work_.taken, stream());
    all_.team.meet();
    copied_ = true;
  }

  static constexpr Index kPoll = 64;
  Together& all_;
  GpuParts& parts_;
  GpuGraph& g_;
  int me_;
  const BetweennessGpuOptions& options_;
  PartCentrality& work_;
  CentralityState s_;
  Access access_;
  std::vector<gpu::LevelPlaces> places_;  // of each member
  bool copied_ = false;
};

}  // namespace

BetweennessGpuResult betweenness_parts_gpu(GpuParts& g, std::span<const Index> sources,
                                           const BetweennessGpuOptions& options) {
  const auto n = g.vertices();
  auto result = unwritten_betweenness(n, sources);
  if (n == 0 || sources.empty()) return result;
  const GraphTurn turn(g, nullptr);
  Together all(g.count());
  all.result = std::move(result);
  for (int i = 0; i < g.count(); ++i) {
    auto& part = g.part(i);
    part.make_room(PartCentrality::bytes(part, g.count()));
    all.entries[static_cast<std::size_t>(i)].work = std::make_unique<PartCentrality>(part, g.count());
    // What searches take besides stays free.
    const auto later = (kVertexBytes + 16) * part.vertices() + kSharedVertexBytes * part.all_vertices();
    if (options.cache && part.left() > later) part.make_cache(part.left() - later);
  }
  all.team.run([&](int me) { Member(all, g, me, options).run(sources); });
  for (const auto& entry : all.entries)
    for (int i = 0; i < 4; ++i) all.result.requests.requests[i] += entry.requests.requests[i];
  return std::move(all.result);
}

}  // namespace penstock
