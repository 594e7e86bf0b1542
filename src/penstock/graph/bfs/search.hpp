#pragma once
// Breadth-first search that changes direction (Beamer, Asanovic, Patterson 2012). In a top-down step, the frontier is a list
// and every edge out of it is followed. In a bottom-up step, the frontier is a bitmap, and every vertex that is not reached
// yet looks for one neighbour in it, and then stops. The few levels that hold most of a small-world graph are cheap bottom-up;
// the thousands of small levels of a road network are cheap top-down, on one thread. In both cases a bitmap says which
// vertices have been reached: it is 32 times smaller than the levels, which are only written.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/bitmap.hpp"
#include "penstock/graph/expand.hpp"

namespace penstock {

struct BfsPlan::Scratch {
  explicit Scratch(std::int64_t n)
      : vertices(n),
        a(n),
        b(n),
        visited(allocate<graph::Word>(graph::words_of(n))),
        front(allocate<graph::Word>(graph::words_of(n))),
        found(allocate<graph::Word>(graph::words_of(n))) {}
  std::int64_t vertices;
  graph::Frontier a, b;
  Array<graph::Word> visited, front, found;
  std::vector<Array<graph::Word>> lanes;
  Array<Index> parents;  // for components; allocated when it is first used
};

namespace graph {

// A thread claims so many words, 8192 vertices, of a bottom-up step.
inline constexpr std::int64_t kWordsAtOnce = 128;
// A top-down step over fewer edges than kAloneEdges stays on one thread: waking the others costs as much as some thousand
// edges, and the frontiers of a road network never have so many. From kManyEdges on, threads are woken although they then
// compete for the bits.
inline constexpr std::int64_t kAloneEdges = 8 << 10, kManyEdges = 128 << 10;
// Approximate nanoseconds of one thread for a vertex that joins the frontier; those of reading are read_cost().
inline constexpr double kArrive = 2;

// In flood(): a frontier with one edge in kFloodShare of all edges is worth a pass over all vertices, which looks at one word
// in kFloodTrial first.
inline constexpr std::int64_t kFloodShare = 32, kFloodTrial = 16;
// flood() has succeeded if fewer than one vertex in kFloodLeft is left unmarked; or, if its search ended before there was a
// large frontier, if it reached at least one vertex in kFloodLeft.
inline constexpr std::int64_t kFloodLeft = 8;
// A top-down step uses bitmaps if it has at least a quarter as many edges as the threads' bitmaps have words.
inline constexpr std::int64_t kWordsOfEdge = 4;

template <bool kLevels, class Rows = CsrView<One>>
class Search {
 public:
  /// `levels` is read only where kLevels is true.
  Search(const GraphOf<Rows>& graph, const BfsPlan::Targets& targets, BfsPlan::Scratch& s, Index* levels)
      : g_(graph),
        targets_(targets),
        s_(s),
        words_(words_of(graph.out.rows)),
        levels_(levels),
        unexplored_(graph.out.nnz()) {}

  /// Clears the bits of visited vertices before run(). Only those beyond the last vertex are set, which no search enters.
  void clear() {
    std::fill_n(s_.visited.data, words_, Word(0));
    if (const auto tail = g_.out.rows & 63; tail) s_.visited.data[words_ - 1] = ~Word(0) << tail;
  }

  /// Marks every vertex that a path from `source` leads to in the scratch's `visited`, and perhaps also vertices that no edge
  /// leads to.
  void run(Index source) {
    start(source);
    while (edges_ > 0) {
      ++depth_;
      unexplored_ -= edges_;
      const bool turn = prefers_bottom_up();
      if (turn && g_.in) {
        bottom_up();
      } else {
        if (turn) missed_ += edges_;
        top_down();
      }
      reached_ += size_;
    }
  }

  /// Marks all or most vertices that are connected with `source`, if edges go both ways. It does not go by levels: as soon as
  /// there is a large frontier, two passes mark every vertex that has a marked neighbour, also one that was marked in the same
  /// pass. Returns false if that is not most of the graph, or if there is no large frontier in the first `patience` levels.
  bool flood(Index source, Index patience) {
    start(source);
    while (edges_ > 0 && edges_ < g_.out.nnz() / kFloodShare) {
      if (++depth_ > patience) return false;
      top_down();
      reached_ += size_;
    }
    if (edges_ == 0) return reached_ * kFloodLeft >= targets_.count;
    mask();
    const auto unmarked = [&](std::int64_t step) {
      std::int64_t left = 0;
      for (std::int64_t w = 0; w < words_; w += step) left += std::popcount(~s_.visited.data[w]);
      return left * step;
    };
    if (words_ > kFloodTrial) {  // some of the words tell whether the others are worth a look
      const auto before = unmarked(kFloodTrial);
      for (std::int64_t w = 0; w < words_; w += kFloodTrial) join(w);
      if (unmarked(kFloodTrial) > before / 2) return false;
    }
    for (int pass = 0; pass < 2; ++pass)
      parallel_ranges(words_, kWordsAtOnce, [&](std::int64_t first, std::int64_t last) {
        for (auto w = first; w < last; ++w) join(w);
      });
    return unmarked(1) < targets_.count / kFloodLeft;
  }

  std::int64_t reached() const { return reached_; }
  std::int64_t missed() const { return missed_; }

 private:
  void start(Index source) {
    claim_bit<false>(s_.visited.data, source);
    if constexpr (kLevels) levels_[source] = 0;
    current_->clear();
    *current_->append(1, degree(source)) = source;
    size_ = 1, edges_ = degree(source), reached_ = 1;
  }

  Offset degree(Index v) const { return degree_of(g_.out, v); }

  /// Compares the expected costs of the two steps. A share q of the edges into an unreached vertex comes from the frontier. So
  /// the vertex is found with probability p = 1 - (1 - q)^degree, after p / q probes on average.
  bool prefers_bottom_up() const {
    if (listed_ && edges_ < kAloneEdges) return false;
    const auto edges = static_cast<double>(edges_), left = static_cast<double>(unexplored_);
    const auto unreached = std::max(1.0, static_cast<double>(targets_.count - reached_));
    const auto q = edges / (edges + left);
    const auto hit = 1 - std::pow(1 - q, left / unreached);
    const auto cost = read_cost(g_.out);
    const auto up = static_cast<double>(words_) + unreached * (cost.look + hit / q * cost.probe);
    return up < edges * cost.edge + (unreached * hit + static_cast<double>(size_)) * kArrive;
  }

  void top_down() {
    const auto lanes = num_threads();
    // With bitmaps, the work besides the edges is some words for each lane.
    if (edges_ >= kAloneEdges && edges_ >= words_ * (lanes + 1) / kWordsOfEdge) return top_down_in_bits();
    if (!listed_) list();
    next_->clear();
    [[maybe_unused]] const auto depth = depth_;
    [[maybe_unused]] Index* const levels = levels_;
    Word* const visited = s_.visited.data;
    const auto arrive = [=]([[maybe_unused]] Index v) {
      if constexpr (kLevels) levels[v] = depth;
    };
    if (edges_ < kManyEdges || lanes == 1) {
      advance_alone(
          Direct{}, g_.out, current_->vertices(), *next_,
          [=](Index v) { return claim_bit<false>(visited, v); }, arrive);
    } else {
      advance(
          Direct{}, g_.out, current_->vertices(), *next_,
          [=](Index, Index v, Offset) { return claim_bit<true>(visited, v); }, arrive);
    }
    std::swap(current_, next_);
    size_ = current_->size(), edges_ = current_->edges();
  }

  /// Every thread marks the vertices that its edges lead to in a bitmap of its own, so that there are no atomics, and no lines
  /// of memory move between cores. Then the new vertices are found in the order of their numbers.
  void top_down_in_bits() {
    if (!listed_) list();
    const auto lanes = static_cast<std::size_t>(num_threads());
    while (s_.lanes.size() < lanes) s_.lanes.push_back(allocate<Word>(words_));
    parallel_for(static_cast<std::int64_t>(lanes), [&](std::int64_t lane) {
      std::fill_n(s_.lanes[static_cast<std::size_t>(lane)].data, words_, Word(0));
    });
    expand(Direct{}, g_.out, current_->vertices(), [&](Index, Index v, Offset, std::int64_t lane) {
      s_.lanes[static_cast<std::size_t>(lane)].data[word_of(v)] |= bit_of(v);
    });
    listed_ = false;
    settle([&](std::int64_t w) {
      Word reached = 0;
      for (std::size_t lane = 0; lane < lanes; ++lane) reached |= s_.lanes[lane].data[w];
      return reached & ~s_.visited.data[w];
    });
  }

  /// Turns the frontier into bits. From then on, vertices that no edge leads to count as visited.
  void mark() {
    if (std::exchange(listed_, false)) {
      std::fill_n(s_.front.data, words_, Word(0));
      for (const auto v : current_->vertices()) claim_bit<false>(s_.front.data, v);
    }
    mask();
  }
  void mask() {
    if (std::exchange(masked_, true)) return;
    for (std::int64_t w = 0; w < words_; ++w)
      s_.visited.data[w] |= targets_.none[static_cast<std::size_t>(w)];
  }

  /// Turns the frontier into a list in ascending order.
  void list() {
    listed_ = true;
    current_->clear();
    Index* const out = current_->append(size_, edges_);
    const auto blocks = (words_ + kWordsAtOnce - 1) / kWordsAtOnce;
    std::vector<std::int64_t> before(static_cast<std::size_t>(blocks) + 1);
    for (std::int64_t b = 0; b < blocks; ++b)
      before[static_cast<std::size_t>(b) + 1] =
          before[static_cast<std::size_t>(b)] + counts_[static_cast<std::size_t>(b)];
    parallel_ranges(words_, kWordsAtOnce, [&](std::int64_t first, std::int64_t last) {
      Index* to = out + before[static_cast<std::size_t>(first / kWordsAtOnce)];
      for (auto w = first; w < last; ++w)
        for (Word bits = s_.front.data[w]; bits; bits &= bits - 1)
          *to++ = static_cast<Index>(w * 64 + std::countr_zero(bits));
    });
  }

  void bottom_up() {
    mark();
    settle([this](std::int64_t w) { return find_in_front(w); });
  }

  /// Makes the next frontier as bits: found(w) has the bits of the 64 vertices of word w that are in it.
  template <class Found>
  void settle(Found found) {
    std::atomic<std::int64_t> size = 0, edges = 0;
    counts_.resize(static_cast<std::size_t>((words_ + kWordsAtOnce - 1) / kWordsAtOnce));
    parallel_ranges(words_, kWordsAtOnce, [&](std::int64_t first, std::int64_t last) {
      std::int64_t count = 0, out = 0;
      for (auto w = first; w < last; ++w) {
        const Word some = found(w);
        count += std::popcount(some);
        for (Word bits = some; bits; bits &= bits - 1) {
          const auto v = static_cast<Index>(w * 64 + std::countr_zero(bits));
          if constexpr (kLevels) levels_[v] = depth_;
          out += degree(v);
        }
        s_.found.data[w] = some;
        s_.visited.data[w] |= some;
      }
      counts_[static_cast<std::size_t>(first / kWordsAtOnce)] = count;
      size.fetch_add(count, std::memory_order_relaxed);
      edges.fetch_add(out, std::memory_order_relaxed);
    });
    std::swap(s_.front, s_.found);
    size_ = size, edges_ = edges;
  }

  /// Marks those of 64 vertices that have a marked neighbour.
  void join(std::int64_t w) {
    const auto& in = *g_.in;
    const std::atomic_ref<Word> own(s_.visited.data[w]);
    for (Word todo = ~own.load(std::memory_order_relaxed); todo; todo &= todo - 1) {
      const auto b = std::countr_zero(todo);
      const bool found = any_end(in, w * 64 + b, [this](Index u) {
        const std::atomic_ref<Word> other(s_.visited.data[word_of(u)]);
        return (other.load(std::memory_order_relaxed) & bit_of(u)) != 0;
      });
      if (found) own.store(own.load(std::memory_order_relaxed) | Word(1) << b, std::memory_order_relaxed);
    }
  }

  /// The bits of those of 64 vertices that are unreached and have a neighbour in the frontier.
  Word find_in_front(std::int64_t w) const {
    const auto& in = *g_.in;
    const Word* const front = s_.front.data;
    Word found = 0;
    for (Word todo = ~s_.visited.data[w]; todo; todo &= todo - 1) {
      const auto b = std::countr_zero(todo);
      if (any_end(in, w * 64 + b, [front](Index u) { return test_bit(front, u); })) found |= Word(1) << b;
    }
    return found;
  }

  const GraphOf<Rows>& g_;
  const BfsPlan::Targets& targets_;
  BfsPlan::Scratch& s_;
  std::int64_t words_;
  Index* levels_;
  Frontier *current_ = &s_.a, *next_ = &s_.b;
  // listed_: the frontier is *current_; otherwise it is the bits of s_.front.
  bool listed_ = true, masked_ = false;
  std::int64_t size_ = 0, edges_ = 0;  // of the frontier
  std::int64_t reached_ = 0, missed_ = 0;
  std::int64_t unexplored_;  // edges out of vertices that no step has walked yet
  Index depth_ = 0;
  std::vector<std::int64_t> counts_;  // how many vertices are in every kWordsAtOnce words of s_.front
};

}  // namespace graph
}  // namespace penstock
