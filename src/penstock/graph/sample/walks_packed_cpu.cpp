// Uniform walks over packed lists: as walk_group.hpp, many walkers of a thread take turns, but an entry is found by decoding its
// piece of the list from the begin on.
#include <algorithm>
#include <array>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/sample/walks.hpp"

namespace penstock::graph {
namespace {

constexpr std::int64_t kPackedWalks = 1 << 10;  // that a thread claims at once

class PackedWalkGroup {
 public:
  PackedWalkGroup(const PackedRows& lists, const WalkOptions& options, const Index* starts, Index* out)
      : lists_(lists),
        rules_(walk_rules<false, false, One>(nullptr, nullptr, nullptr, nullptr, options)),
        starts_(starts),
        out_(out) {}

  /// Does the walks [first, last).
  void run(std::int64_t first, std::int64_t last) {
    next_ = first, last_ = last;
    std::int64_t count = 0;
    while (count < kTogether && enter(walkers_[at(count)])) ++count;
    for (int turn = 0; count > 0; ++turn) {
      if (turn % 64 == 0) poll_interrupt();
      for (std::int64_t i = 0; i < count; ++i) choose(walkers_[at(i)]);
      for (std::int64_t i = 0; i < count; ++i) move(walkers_[at(i)]);
      for (std::int64_t i = 0; i < count;) {
        auto& w = walkers_[at(i)];
        if (w.step < rules_.length || enter(w)) ++i;
        else w = walkers_[at(--count)];
      }
    }
  }

 private:
  static constexpr std::int64_t kTogether = 64;
  static constexpr Offset kMoved = -1;

  bool enter(Walker& w) {
    while (next_ < last_) {
      const auto i = next_++;
      w = rules_.enter(i, starts_[i], out_);
      prefetch_range(lists_, w.at);
      if (rules_.length > 0) return true;
    }
    return false;
  }
  /// Draws the numbers that WalkRules::propose draws.
  void choose(Walker& w) const {
    w.edge = kMoved;
    w.degree = degree_of(lists_, w.at);
    if (w.degree == 0) return rules_.end(w);
    if (rules_.restarts != 0 && w.draw() < rules_.restarts) {
      rules_.restart(w);
      return prefetch_range(lists_, w.at);
    }
    w.edge = below(w.draw(), w.degree);
    prefetch_list(lists_, w.at);
  }
  void move(Walker& w) const {
    if (w.edge == kMoved) return;
    Index to = w.at;
    ends_at(lists_, w.at, {&w.edge, 1}, [&](std::size_t, Index u) { to = u; });
    rules_.arrive(w, to);
    prefetch_range(lists_, to);
  }

  const PackedRows& lists_;
  const WalkRules<One, false, false> rules_;
  const Index* starts_;
  Index* out_;
  std::int64_t next_ = 0, last_ = 0;
  std::array<Walker, kTogether> walkers_;
};

}  // namespace

Array<Index> packed_walks(const PackedRows& lists, std::span<const Index> starts,
                          const WalkOptions& options) {
  require(!options.weighted && !is_biased(options), "packed_walks: for uniform walks");
  const auto out = allocate<Index>(std::ssize(starts) * (options.length + 1));
  const auto walks = std::ssize(starts);
  const auto range = std::clamp<std::int64_t>(walks / (4 * num_threads()), 1, kPackedWalks);
  parallel_ranges(walks, range, [&](std::int64_t first, std::int64_t last) {
    PackedWalkGroup(lists, options, starts.data(), out.data).run(first, last);
  });
  return out;
}

}  // namespace penstock::graph
