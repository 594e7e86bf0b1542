#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/sample/walker.hpp"

// Walkers of one thread. A walk is a chain of reads, each of which waits for memory; a thread therefore moves many walkers
// together: what one will read next is prefetched, and read when all others have had their turn.
namespace penstock::graph {

/// The edge that a walker takes, or -1 where no edge has a positive weight, by the sums of the row's weights.
template <class V, bool kWeighted, bool kBiased>
Offset draw_by_sums(const WalkRules<V, kWeighted, kBiased>& rules, Walker& w, std::vector<double>& sums) {
  sums.resize(at(w.degree));
  double sum = 0;
  for (std::int64_t i = 0; i < w.degree; ++i) sums[at(i)] = sum += rules.weight_of(w, i);
  if (!(sum > 0)) return -1;
  return w.first + (std::ranges::lower_bound(sums, w.draw_unit() * sum) - sums.begin());
}

template <class V, bool kWeighted, bool kBiased>
class WalkGroup {
 public:
  WalkGroup(const WalkRules<V, kWeighted, kBiased>& rules, const Index* starts, Index* out)
      : rules_(rules), starts_(starts), out_(out) {}

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
        if (w.step < rules_.length || enter(w)) ++i;
        else w = walkers_[at(--count_)];
      }
    }
  }

 private:
  static constexpr std::int64_t kWalkers = 64;
  static constexpr Offset kMoved = -1;

  struct Test {
    SearchedRow in;
    std::int64_t walker;
    Index to;
  };

  /// Puts the next walk in a walker's place; false where none is left.
  bool enter(Walker& w) {
    while (next_ < last_) {
      const auto i = next_++;
      w = rules_.enter(i, starts_[i], out_);
      __builtin_prefetch(rules_.indptr + w.at);
      if (rules_.length > 0) return true;
    }
    return false;
  }
  void arrive(Walker& w, Index to) {
    rules_.arrive(w, to);
    fetch_vertex(to);
  }
  void fetch_vertex(Index v) {
    __builtin_prefetch(rules_.indptr + v);
    if constexpr (kWeighted) __builtin_prefetch(rules_.largest + v);
  }
  void take_by_sums(Walker& w) {
    const auto edge = draw_by_sums(rules_, w, sums_);
    if (edge < 0) rules_.end(w);
    else arrive(w, rules_.indices[edge]);
  }

  /// Draws an edge and prefetches it, or moves the walker at once.
  void propose(Walker& w) {
    const auto what = rules_.propose(w);
    if (what == Try::drawn) {
      __builtin_prefetch(rules_.indices + w.edge);
      if constexpr (kWeighted) __builtin_prefetch(rules_.values + w.edge);
      return;
    }
    w.edge = kMoved;  // this try is over
    if (what == Try::end) rules_.end(w);
    else if (what == Try::restart) rules_.restart(w), fetch_vertex(w.at);
    else if (what == Try::row) take_by_sums(w);
    else if (what == Try::back) arrive(w, w.before);
  }
  void decide(std::int64_t i) {
    auto& w = walkers_[at(i)];
    if (w.edge == kMoved) return;
    const auto to = rules_.indices[w.edge];
    const auto what = rules_.decide(w, to);
    if (what == Try::taken) return arrive(w, to);
    if (what != Try::tested) return;
    __builtin_prefetch(rules_.indptr + to);
    tested_[at(tests_++)] = {{}, i, to};
  }

  /// Looks whether the ends of drawn edges are neighbours of the vertices before, in all searches together.
  void test() {
    for (std::int64_t i = 0; i < tests_; ++i) {
      auto& t = tested_[at(i)];
      t.in = rules_.searched(walkers_[at(t.walker)].before, t.to);
      __builtin_prefetch(t.in.row + t.in.size / 2);
    }
    std::array<std::int64_t, kWalkers> open;
    std::int64_t left = 0;
    for (std::int64_t i = 0; i < tests_; ++i)
      if (tested_[at(i)].in.size > 1) open[at(left++)] = i;
    while (left > 0) {
      std::int64_t kept = 0;
      for (std::int64_t i = 0; i < left; ++i) {
        auto& t = tested_[at(open[at(i)])].in;
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
      const bool neighbours = t.in.size == 1 && *t.in.row == t.in.column;
      if (rules_.is_taken(neighbours)) arrive(walkers_[at(t.walker)], t.to);
    }
  }

  const WalkRules<V, kWeighted, kBiased>& rules_;
  const Index* starts_;
  Index* out_;
  std::int64_t next_ = 0, last_ = 0, count_ = 0, tests_ = 0;
  std::array<Walker, kWalkers> walkers_;
  std::array<Test, kWalkers> tested_;
  std::vector<double> sums_;
};

}  // namespace penstock::graph
