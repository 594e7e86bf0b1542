// Strongly connected components. If edges are known in both directions, vertices without edges into them or out of them are
// removed first. Then there is a search forward and one backward from a vertex of high degree; the vertices that both reach
// are the giant component (Fleischer, Hendrickson, Pinar 2000; the order of steps is that of Slota, Rajamanickam, Madduri
// 2014). The rest, or everything if edges are known in one direction only, is done by Tarjan's algorithm (1972), with stacks
// of its own in place of recursion.
#include "penstock/graph/cc/scc.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/search.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {
namespace {

using graph::Word;

constexpr std::int64_t kWords = 64;  // words of vertices that one thread trims at once
constexpr std::int64_t kPollSteps = 1 << 20;
constexpr Index kNoComponent = -1;  // of a vertex whose component is not known yet
constexpr Index kOneVertex = -2;    // of a vertex that is a component alone

Word load(Word& word) { return std::atomic_ref<Word>(word).load(std::memory_order_relaxed); }

/// Whether a row names a vertex other than v that is still there.
bool leads_on(const CsrView<One>& a, Index v, Word* gone) {
  for (auto k = a.indptr[v], end = a.indptr[v + 1]; k < end; ++k) {
    const auto u = a.indices[k - a.first_nnz];
    if (u != v && !(load(gone[graph::word_of(u)]) & graph::bit_of(u))) return true;
  }
  return false;
}

/// Marks vertices that lie on no cycle, because no vertex, or only marked ones, come before or after them. It works in place:
/// a pass may see its own marks, which only saves passes.
void trim(const BfsGraph& g, std::vector<Word>& gone) {
  parallel_ranges(std::ssize(gone), kWords, [&](std::int64_t first, std::int64_t last) {
    for (auto w = first; w < last; ++w) {
      Word& own = gone[static_cast<std::size_t>(w)];
      for (Word bits = ~load(own); bits; bits &= bits - 1) {
        const auto v = static_cast<Index>(w * 64 + std::countr_zero(bits));
        if (!leads_on(g.out, v, gone.data()) || !leads_on(*g.in, v, gone.data()))
          std::atomic_ref<Word>(own).store(load(own) | graph::bit_of(v), std::memory_order_relaxed);
      }
    }
    poll_interrupt();
  });
}

/// Edges of a vertex are followed in the order in which they are stored, or from the last to the first one if `Backward`.
template <bool Backward>
class Tarjan {
 public:
  /// Components are written to `component` for every vertex whose entry is kNoComponent, numbered from `next` on in the
  /// order in which they are finished.
  Tarjan(const CsrView<One>& a, Index* component, Index next)
      : a_(a),
        to_(a.indices - a.first_nnz),
        component_(component),
        next_(next),
        order_(static_cast<std::size_t>(a.rows)),
        low_(static_cast<std::size_t>(a.rows)) {}

  void run() {
    for (std::int64_t v = 0; v < a_.rows; ++v)
      if (component_[v] == kNoComponent) from(static_cast<Index>(v));
  }
  Index next() const { return next_; }

 private:
  struct Frame {
    Index v;
    Offset left;  // edges that have not been followed
  };

  void enter(Index v) {
    order_[at(v)] = low_[at(v)] = ++entered_;
    open_.push_back(v);
    path_.push_back({v, a_.indptr[v + 1] - a_.indptr[v]});
  }

  void from(Index source) {
    enter(source);
    while (!path_.empty()) {
      if (++steps_ % kPollSteps == 0) poll_interrupt();
      auto& [v, left] = path_.back();
      const auto begin = a_.indptr[v], end = a_.indptr[v + 1];
      auto low = low_[at(v)];
      Index into = -1;
      for (; left > 0 && into < 0; --left) {
        const auto w = to_[Backward ? begin + left - 1 : end - left];
        if (component_[w] != kNoComponent) continue;
        if (order_[at(w)] == 0) into = w;
        else low = std::min(low, low_[at(w)]);
      }
      low_[at(v)] = low;
      if (into >= 0) enter(into);  // v and left are no longer valid after that
      else leave(v);
    }
  }

  void leave(Index v) {
    path_.pop_back();
    const auto low = low_[at(v)];
    if (low == order_[at(v)]) {
      Index w;
      do {
        w = open_.back();
        open_.pop_back();
        component_[w] = next_;
      } while (w != v);
      ++next_;
    } else {
      auto& above = low_[at(path_.back().v)];
      above = std::min(above, low);
    }
  }

  static std::size_t at(Index v) { return static_cast<std::size_t>(v); }

  const CsrView<One>& a_;
  const Index* to_;
  Index* component_;
  Index next_;
  std::vector<Index> order_;  // when a vertex was entered, from 1 on
  std::vector<Index> low_;    // the earliest vertex, by that number, to which it is known to lead back
  std::vector<Index> open_;   // vertices that have been entered and whose component is not known
  std::vector<Frame> path_;
  Index entered_ = 0;
  std::int64_t steps_ = 0;
};

/// Of the vertices that are still there, the one with the largest product of edges in and edges out; -1 if there is none.
Index pivot_of(const BfsGraph& g, const std::vector<Word>& gone) {
  double best = 0;
  Index pivot = -1;
  for (std::size_t w = 0; w < gone.size(); ++w)
    for (Word bits = ~gone[w]; bits; bits &= bits - 1) {
      const auto v = static_cast<Index>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      const auto paths = static_cast<double>(g.out.indptr[v + 1] - g.out.indptr[v]) *
                         static_cast<double>(g.in->indptr[v + 1] - g.in->indptr[v]);
      if (paths > best) best = paths, pivot = v;
    }
  return pivot;
}

/// Sets the bits of the vertices that `pivot` leads to.
void reach(const BfsGraph& g, BfsPlan& plan, Index pivot, std::vector<Word>& reached) {
  const auto targets = BfsPlan::find_targets(g);
  auto scratch = plan.borrow(g.out.rows);
  graph::Search<false> search(g, targets, *scratch, nullptr);
  search.clear();
  search.run(pivot);
  for (std::size_t w = 0; w < reached.size(); ++w) reached[w] = scratch->visited.data[w] & ~targets.none[w];
  plan.give_back(std::move(scratch));
}

/// Trims the graph and finds the pivot's component. Vertices get kOneVertex, or 0 if they are in that component.
void take_giant(const BfsGraph& g, BfsPlan& plan, Index* component) {
  const auto n = g.out.rows;
  const auto words = static_cast<std::size_t>(graph::words_of(n));
  std::vector<Word> gone(words), forward(words), backward(words);
  if (const auto tail = n & 63; tail) gone.back() = ~Word(0) << tail;
  trim(g, gone);  // once: a second pass costs more than it saves
  const auto pivot = pivot_of(g, gone);
  if (pivot >= 0) {
    reach(g, plan, pivot, forward);
    reach({*g.in, &g.out}, plan, pivot, backward);
  }
  for (std::int64_t v = 0; v < n; ++v) {
    const auto i = static_cast<Index>(v);
    const bool both = graph::test_bit(forward.data(), i) && graph::test_bit(backward.data(), i);
    component[v] = both ? 0 : graph::test_bit(gone.data(), i) ? kOneVertex : kNoComponent;
  }
}

}  // namespace

Components strong_components(const BfsGraph& g, BfsPlan& plan) {
  const auto n = g.out.rows;
  require(g.out.cols == n, "strong components need a square adjacency matrix, this one is " +
                               std::to_string(n) + " x " + std::to_string(g.out.cols));
  if (g.in && g.in->indices == g.out.indices) return connected_components(g, plan);
  Components c{0, plan.result(n)};
  auto* const component = c.labels.data;
  std::fill_n(component, n, kNoComponent);
  if (g.in) take_giant(g, plan, component);
  else c.missed = g.out.nnz();
  Tarjan<false> rest(g.out, component, 1);
  rest.run();
  std::vector<Index> number(static_cast<std::size_t>(rest.next()), kNoComponent);
  Index next = 0;
  for (std::int64_t v = 0; v < n; ++v) {
    if (component[v] == kOneVertex) {
      component[v] = next++;
      continue;
    }
    auto& label = number[static_cast<std::size_t>(component[v])];
    if (label == kNoComponent) label = next++;
    component[v] = label;
  }
  c.count = next;
  return c;
}

Components strong_components_as_finished(const BfsGraph& g, BfsPlan& plan) {
  const auto n = g.out.rows;
  require(g.out.cols == n, "strong components need a square adjacency matrix, this one is " +
                               std::to_string(n) + " x " + std::to_string(g.out.cols));
  // Then each tree of the search is a component.
  if (g.in && g.in->indices == g.out.indices) return connected_components(g, plan);
  Components c{0, plan.result(n)};
  std::fill_n(c.labels.data, n, kNoComponent);
  Tarjan<true> all(g.out, c.labels.data, 0);
  all.run();
  c.count = all.next();
  return c;
}

}  // namespace penstock
