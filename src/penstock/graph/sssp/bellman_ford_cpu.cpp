// Shortest paths over weights of any sign (Bellman 1958; Ford 1956), in rounds: the vertices that the last round has lowered
// send their distances, as they were when the round began, along their edges. Each round is a set of minima, so that its
// outcome does not depend on the order in which threads come. Rounds end when nothing is lowered. A cycle of negative length
// would never end: once the edges of the graph have been walked a few times, the distances are asked for one (Cherkassky,
// Goldberg 1999, section 3).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bitmap.hpp"
#include "penstock/graph/expand.hpp"
#include "penstock/graph/sssp/bellman_ford.hpp"
#include "penstock/graph/sssp/bellman_ford_search.hpp"

namespace penstock {
namespace graph {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr std::int64_t kWalks = 8;  // of all edges between two looks for a cycle, which walks them twice

template <class V>
class Rounds {
 public:
  Rounds(const Csr<V>& a, std::span<double> distances)
      : a_(a),
        d_(distances),
        sent_(at(a.rows), kFar),
        touched_(at(words_of(a.rows))),
        lanes_(at(num_threads())) {}

  /// Returns a negative cycle, or nothing.
  std::vector<Index> run(std::span<const Index> sources) {
    std::fill(d_.begin(), d_.end(), kFar);
    for (const auto s : sources)
      if (d_[at(s)] != 0) d_[at(s)] = 0, frontier_.push_back(s);
    const auto n = a_.edges.rows;
    for (std::int64_t rounds = 1, walked = 0; !frontier_.empty(); ++rounds) {
      walked += round();
      if (walked < kWalks * (a_.edges.nnz() + n) && rounds != n) continue;
      walked = 0;
      auto found = find_cycle(a_, sources, d_);
      if (!found.negative.empty()) return std::move(found.negative);
      // Distances that sink by rounding alone sink for ever: from here on only more than that counts.
      if (found.rounding || rounds >= n) slack_ = slack_ > 0 ? 16 * slack_ : 0x1p-50;
      if (found.rounding || rounds >= n) scale_ = mean_weight();
      require(slack_ < 1,
              "bellman_ford: the distances do not settle, since rounding outweighs the smallest weights");
    }
    return {};
  }

 private:
  /// Sends the frontier's distances, and makes the next one. Returns the number of edges that were walked.
  std::int64_t round() {
    std::int64_t walked = 0;
    for (const auto u : frontier_) {
      sent_[at(u)] = d_[at(u)];
      walked += a_.edges.indptr[u + 1] - a_.edges.indptr[u];
    }
    expand_rows(Direct{}, a_.edges, frontier_, [&](std::int64_t lane, Index u, Offset first, Offset last) {
      const auto from = sent_[at(u)];
      for (auto k = first; k < last; ++k) {
        const auto v = a_.edges.indices[k];
        if (lower(d_[at(v)], from + a_.weight(k)) && claim_bit<true>(touched_.data(), v))
          lanes_[at(lane)].push_back(v);
      }
    });
    frontier_.clear();
    for (auto& lane : lanes_) {
      for (const auto v : lane) {
        touched_[word_of(v)] = 0;
        if (slack_ == 0 || d_[at(v)] < sent_[at(v)] - slack_ * std::max(std::fabs(d_[at(v)]), scale_))
          frontier_.push_back(v);
      }
      lane.clear();
    }
    poll_interrupt();
    return walked;
  }

  double mean_weight() const {
    double sum = 0;
    std::int64_t count = 0;
    for (Offset k = 0; k < a_.edges.nnz(); ++k)
      if (const auto w = std::fabs(a_.weight(k)); w < kFar) sum += w, ++count;
    return count ? sum / static_cast<double>(count) : 0;
  }

  Roads<V> a_;
  std::span<double> d_;
  std::vector<double> sent_;  // what each vertex has told its neighbours last
  std::vector<Word> touched_;
  std::vector<std::vector<Index>> lanes_;
  std::vector<Index> frontier_;
  double slack_ = 0, scale_ = 0;  // what a distance must sink by to be told, against its size
};

template <class V>
void check(const Csr<V>& a, std::span<const Index> sources) {
  require(a.rows == a.cols, "bellman_ford needs a square matrix");
  for (const auto s : sources)
    require(s >= 0 && s < a.rows, "bellman_ford: source " + std::to_string(s) + " is outside a graph of " +
                                      std::to_string(a.rows) + " vertices");
}

template <class V>
std::vector<Index> search(const Csr<V>& a, std::span<const Index> sources, std::span<double> distances,
                          std::span<Index> predecessors) {
  auto cycle = Rounds<V>(a, distances).run(sources);
  if (cycle.empty() && !predecessors.empty()) shortest_hops(Roads<V>(a), sources, distances, predecessors);
  return cycle;
}

}  // namespace
}  // namespace graph

template <class V>
BellmanFord bellman_ford(const Csr<V>& a, std::span<const Index> sources, bool predecessors) {
  graph::check(a, sources);
  BellmanFord r{allocate<double>(a.rows), allocate<Index>(predecessors ? a.rows : 0), {}};
  r.cycle = graph::search(a, sources, r.distances.span(), r.predecessors.span());
  return r;
}

template <class V>
BellmanFord bellman_ford_each(const Csr<V>& a, std::span<const Index> sources, bool predecessors) {
  graph::check(a, sources);
  const auto n = a.rows, count = std::ssize(sources);
  BellmanFord r{allocate<double>(n * count), allocate<Index>(predecessors ? n * count : 0), {}};
  std::vector<std::vector<Index>> cycles(at(count));
  std::atomic<std::int64_t> first = count;  // of the sources with a cycle
  const auto from = [&](std::int64_t i) {
    if (i > first.load(std::memory_order_relaxed)) return;
    auto& cycle = cycles[at(i)];
    cycle = graph::search(a, sources.subspan(at(i), 1), r.distances.slice(i * n, n).span(),
                          predecessors ? r.predecessors.slice(i * n, n).span() : std::span<Index>());
    auto now = first.load(std::memory_order_relaxed);
    while (!cycle.empty() && i < now && !first.compare_exchange_weak(now, i, std::memory_order_relaxed)) {}
  };
  // Searches side by side need no meeting after each round; few of them would leave threads idle.
  if (count >= 2 * num_threads()) {
    parallel_for(count, from);
  } else {
    for (std::int64_t i = 0; i < count; ++i) from(i);
  }
  if (first < count) r.cycle = std::move(cycles[at(first)]);
  return r;
}

#define X(V)                                                                      \
  template BellmanFord bellman_ford(const Csr<V>&, std::span<const Index>, bool); \
  template BellmanFord bellman_ford_each(const Csr<V>&, std::span<const Index>, bool);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
