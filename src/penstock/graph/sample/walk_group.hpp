#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/sample/walker.hpp"
#include "penstock/graph/sample/walks.hpp"

// Walkers of one thread. A walk is a chain of reads, each of which waits for memory; a thread therefore moves many walkers
// together: what one will read next is prefetched, and read when all others have had their turn.
namespace penstock::graph {

/// Steps are drawn by rejection, as in KnightKing (Yang et al., SOSP 2019): an edge of the row is drawn uniformly, and a dart
/// below the largest possible preference says whether it is taken. What an edge back has beyond the others' largest is a
/// stripe of its own, so that a small p does not make others be rejected. Darts below the least preference need no look
/// whether the last vertex and the next are neighbours.
template <class V, bool kWeighted, bool kBiased>
class WalkGroup {
 public:
  WalkGroup(const Csr<V>& a, std::span<const Index> starts, std::span<const double> largest,
            const WalkOptions& options, Index* out)
      : a_(a),
        starts_(starts),
        largest_(largest),
        options_(options),
        out_(out),
        bias_(options.p, options.q),
        restarts_(threshold(options.restart)) {}

  /// Does the walks [first, last).
  void run(std::int64_t first, std::int64_t last) {
    next_ = first, last_ = last;
    count_ = 0;
    while (count_ < kWalkers && enter(walkers_[at(count_)])) ++count_;
    for (int turn = 0; count_ > 0; ++turn) {
      if (turn % 256 == 0) poll_interrupt();
      for (std::int64_t i = 0; i < count_; ++i) propose(walkers_[at(i)]);
      tests_ = 0;
      for (std::int64_t i = 0; i < count_; ++i) decide(i);
      if constexpr (kBiased) test();
      for (std::int64_t i = 0; i < count_;) {
        auto& w = walkers_[at(i)];
        if (w.step < options_.length || enter(w)) ++i;
        else w = walkers_[at(--count_)];
      }
    }
  }

 private:
  static constexpr std::int64_t kWalkers = 64;
  static constexpr int kTries = 48;              // rejections after which the whole row is looked at
  static constexpr std::int64_t kShortRow = 12;  // of which weights are looked at one by one
  static constexpr Offset kMoved = -1;

  struct Test {
    const Index* row;
    std::int64_t size, walker;
    Index column, to;
  };

  /// Puts the next walk in a walker's place; false where none is left.
  bool enter(Walker& w) {
    while (next_ < last_) {
      const auto i = next_++;
      w = {.random = Random(options_.seed, static_cast<std::uint64_t>(i) + kWalkStream),
           .at = starts_[at(i)],
           .start = starts_[at(i)],
           .out = out_ + i * (options_.length + 1)};
      *w.out = w.at;
      __builtin_prefetch(a_.indptr.data + w.at);
      if (options_.length > 0) return true;
    }
    return false;
  }
  void arrive(Walker& w, Index to) {
    w.out[++w.step] = to;
    w.before = w.at;
    w.at = to;
    w.tries = 0;
    __builtin_prefetch(a_.indptr.data + to);
    if constexpr (kWeighted) __builtin_prefetch(largest_.data() + to);
  }
  void end(Walker& w) {
    while (w.step < options_.length) w.out[++w.step] = kNowhere;
  }
  void take_by_sums(Walker& w) {
    const auto edge = draw_by_sums<V, kWeighted, kBiased>(a_, w, bias_, sums_);
    if (edge < 0) end(w);
    else arrive(w, a_.indices.data[edge]);
    w.edge = kMoved;
  }

  /// Draws an edge and prefetches it, or moves the walker at once.
  void propose(Walker& w) {
    w.edge = kMoved;
    if (w.tries == 0) {
      w.first = a_.indptr.data[w.at];
      w.degree = a_.indptr.data[w.at + 1] - w.first;
      if (w.degree == 0) return end(w);
      if constexpr (kWeighted)
        if (!(largest_[at(w.at)] > 0)) return end(w);
      if (restarts_ != 0 && w.draw() < restarts_) {
        arrive(w, w.start);
        w.before = kNowhere;
        return;
      }
      if constexpr (kWeighted && !kBiased)
        if (w.degree <= kShortRow) return take_by_sums(w);
    }
    if (w.tries++ == kTries) return take_by_sums(w);
    if constexpr (kBiased) {
      if (bias_.extra > 0 && w.before != kNowhere) {
        const auto envelope = static_cast<double>(w.degree) * bias_.most + bias_.extra;
        if (w.draw_unit() * envelope > static_cast<double>(w.degree) * bias_.most) return go_back(w);
      }
    }
    w.edge = w.first + below(w.draw(), w.degree);
    __builtin_prefetch(a_.indices.data + w.edge);
    if constexpr (kWeighted) __builtin_prefetch(a_.values.data + w.edge);
  }
  /// The dart is in the stripe of the edge back, if there is one. `edge` stays kMoved: this try is over.
  void go_back(Walker& w) {
    const auto* row = a_.indices.data + w.first;
    if constexpr (!kWeighted)
      if (options_.symmetric) return arrive(w, w.before);
    const auto* found = std::lower_bound(row, row + w.degree, w.before);
    if (found == row + w.degree || *found != w.before) return;
    if constexpr (kWeighted)
      if (w.draw_unit() * largest_[at(w.at)] > static_cast<double>(a_.values.data[found - a_.indices.data]))
        return;
    arrive(w, w.before);
  }
  void decide(std::int64_t i) {
    auto& w = walkers_[at(i)];
    if (w.edge == kMoved) return;
    const auto to = a_.indices.data[w.edge];
    if constexpr (!kWeighted && !kBiased) {
      arrive(w, to);
    } else {
      double weight = 1, most = 1;
      if constexpr (kWeighted)
        weight = static_cast<double>(a_.values.data[w.edge]), most = largest_[at(w.at)];
      const bool biased = kBiased && w.before != kNowhere;
      const auto dart = w.draw_unit() * most * (biased ? bias_.most : 1);
      if (!biased || to == w.before) {
        if (dart <= weight * (biased ? bias_.near_back : 1)) arrive(w, to);
      } else if (dart <= weight * bias_.least) {
        arrive(w, to);
      } else if (dart <= weight * bias_.most) {
        __builtin_prefetch(a_.indptr.data + to);
        // Whichever it is, one of "neighbours" and "no neighbours" takes the edge: the other rejects it.
        tested_[at(tests_++)] = {nullptr, 0, i, to, to};
      }
    }
  }

  /// Looks whether the ends of drawn edges are neighbours of the vertices before, in all searches together.
  void test() {
    for (std::int64_t i = 0; i < tests_; ++i) {
      auto& t = tested_[at(i)];
      const auto before = walkers_[at(t.walker)].before;
      auto first = a_.indptr.data[before];
      t.size = a_.indptr.data[before + 1] - first;
      if (options_.symmetric && a_.indptr.data[t.to + 1] - a_.indptr.data[t.to] < t.size) {
        first = a_.indptr.data[t.to];
        t.size = a_.indptr.data[t.to + 1] - first;
        t.column = before;
      }
      t.row = a_.indices.data + first;
      __builtin_prefetch(t.row + t.size / 2);
    }
    std::array<std::int64_t, kWalkers> open;
    std::int64_t left = 0;
    for (std::int64_t i = 0; i < tests_; ++i)
      if (tested_[at(i)].size > 1) open[at(left++)] = i;
    while (left > 0) {
      std::int64_t kept = 0;
      for (std::int64_t i = 0; i < left; ++i) {
        auto& t = tested_[at(open[at(i)])];
        const auto half = t.size / 2;
        t.row += t.row[half - 1] < t.column ? half : 0;
        t.size -= half;
        __builtin_prefetch(t.row + t.size / 2);
        open[at(kept)] = open[at(i)];
        kept += t.size > 1;
      }
      left = kept;
    }
    for (std::int64_t i = 0; i < tests_; ++i) {
      const auto& t = tested_[at(i)];
      const bool neighbours = t.size == 1 && *t.row == t.column;
      if (neighbours == (bias_.away < 1)) arrive(walkers_[at(t.walker)], t.to);
    }
  }

  static constexpr std::uint64_t kWalkStream = std::uint64_t{1} << 62;
  const Csr<V>& a_;
  std::span<const Index> starts_;
  std::span<const double> largest_;
  const WalkOptions& options_;
  Index* out_;
  Bias bias_;
  std::uint64_t restarts_;
  std::int64_t next_ = 0, last_ = 0, count_ = 0, tests_ = 0;
  std::array<Walker, kWalkers> walkers_;
  std::array<Test, kWalkers> tested_;
  std::vector<double> sums_;
};

}  // namespace penstock::graph
