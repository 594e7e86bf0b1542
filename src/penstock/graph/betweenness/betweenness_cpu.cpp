// Betweenness (Brandes 2001). From each source, a breadth-first search counts shortest paths; then the vertices are visited
// backwards, and each takes its share of the dependencies of its successors. One bit for each edge, in the order of the walk,
// says whether it leads to a successor, so that the way back looks at no other edge (GAP's benchmark, Beamer, Asanovic,
// Patterson 2015, keeps such bits in the order of the matrix). A thread takes whole sources, so there are no atomics, and sums
// have a fixed order.
#include "penstock/graph/betweenness/betweenness.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {
namespace {

using graph::Word;

constexpr std::int64_t kBlock = 16 << 10;
constexpr std::int64_t kPoll = 1 << 10;
constexpr std::int64_t kRoundBytes = 256 << 20;  // of results that wait until they are added up
constexpr std::int64_t kMostInRound = 256;
// If fewer than an eighth of the vertices are reached, they are handled one by one.
constexpr std::int64_t kSparse = 8;

/// What one source adds to the sums. It is zero for vertices that the source does not reach.
struct Gain {
  std::vector<Index> order;  // reached vertices as they were found; room for one more
  std::vector<double> of_vertex;
  std::int64_t reached = 0;

  bool dense() const { return reached * kSparse >= std::ssize(of_vertex); }
  void clear(std::int64_t vertices) {
    if (of_vertex.empty()) order.resize(static_cast<std::size_t>(vertices) + 1);
    if (of_vertex.empty() || dense()) of_vertex.assign(static_cast<std::size_t>(vertices), 0.0);
    else
      for (std::int64_t i = 0; i < reached; ++i) of_vertex[at(order[static_cast<std::size_t>(i)])] = 0;
    reached = 0;
  }
};

/// The search from one source. `Number` is the type of counts of paths. Ratios of counts are needed, so counts must not
/// overflow, and their inverses must not underflow.
template <class Number>
class OneSource {
 public:
  explicit OneSource(const CsrView<One>& a)
      : a_(a),
        level_(static_cast<std::size_t>(a.rows), -1),
        paths_(level_.size()),
        share_(level_.size()),
        leads_down_(static_cast<std::size_t>(graph::words_of(a.nnz()) + 1)) {}

  /// Fills `gain`, which must be clear, and adds to `of_edge`, one number for each entry, if it is not null. Returns false if
  /// there are too many paths for Number.
  bool run(Index source, bool endpoints, Gain& gain, double* of_edge) {
    const bool fits = search(source, gain);
    if (fits) accumulate(source, endpoints, gain, of_edge);
    forget(gain);
    return fits;
  }

 private:
  static constexpr Number kMost = std::numeric_limits<Number>::max() / static_cast<Number>(1e9);

  bool search(Index source, Gain& gain) {
    Index* const order = gain.order.data();
    std::int64_t head = 0, tail = 1;
    order[0] = source;
    level_[at(source)] = 0, paths_[at(source)] = 1;
    std::int64_t edge = 0;
    bool fits = true;
    for (; head < tail && fits; ++head) {
      const auto u = order[head];
      const auto paths = paths_[at(u)];
      fits = paths <= kMost;
      const auto next = level_[at(u)] + 1;
      const Index* to = a_.indices + (a_.indptr[u] - a_.first_nnz);
      for (auto left = a_.indptr[u + 1] - a_.indptr[u]; left > 0;) {
        const auto count = std::min<Offset>(left, 64 - (edge & 63));
        tail = walk(to, count, edge, next, paths, order, tail);
        to += count, left -= count, edge += count;
      }
      if (head % kPoll == 0) poll_interrupt();
    }
    gain.reached = tail;
    edges_ = edge;
    return fits;
  }

  /// Walks edges up to the end of a word of bits. It has no branches on which vertices are new or one level down, because
  /// these could not be predicted.
  std::int64_t walk(const Index* to, Offset count, std::int64_t edge, Index next, Number paths, Index* order,
                    std::int64_t tail) {
    std::array<Index, 64> down;
    std::int64_t found = 0;
    Word word = 0;
    for (Offset k = 0; k < count; ++k) {
      const auto v = to[k];
      auto level = level_[at(v)];
      order[tail] = v;
      tail += level < 0;
      level = level < 0 ? next : level;
      level_[at(v)] = level;
      const bool on = level == next;
      down[static_cast<std::size_t>(found)] = v;
      found += on;
      word |= Word(on) << k;
    }
    const auto shift = edge & 63;
    Word& bits = leads_down_[static_cast<std::size_t>(edge >> 6)];
    bits = (shift ? bits & ((Word(1) << shift) - 1) : 0) | word << shift;
    for (std::int64_t i = 0; i < found; ++i) paths_[at(down[static_cast<std::size_t>(i)])] += paths;
    return tail;
  }

  void accumulate(Index source, bool endpoints, Gain& gain, double* of_edge) {
    auto end = edges_;
    const double own = endpoints ? 1 : 0;
    for (auto i = gain.reached; i-- > 0;) {
      const auto u = gain.order[static_cast<std::size_t>(i)];
      const auto begin = end - (a_.indptr[u + 1] - a_.indptr[u]);
      const auto dependency = paths_[at(u)] * shares(u, begin, end);
      share_[at(u)] = (1 + dependency) / paths_[at(u)];
      gain.of_vertex[at(u)] = static_cast<double>(dependency) + own;
      if (of_edge) add_to_edges(u, begin, end, of_edge);
      end = begin;
      if (i % kPoll == 0) poll_interrupt();
    }
    gain.of_vertex[at(source)] = endpoints ? static_cast<double>(gain.reached - 1) : 0;
  }

  /// Calls visit(k) for the k-th edge of u, whose edges have the bits [begin, end), if it leads to a successor.
  template <class Visit>
  void for_successors(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    for (auto first = begin; first < end;) {
      const auto base = first & ~std::int64_t(63), last = std::min(end, base + 64);
      auto word = leads_down_[static_cast<std::size_t>(base >> 6)] >> (first - base) << (first - base);
      if (last - base < 64) word &= (Word(1) << (last - base)) - 1;
      for (; word; word &= word - 1) visit(base + std::countr_zero(word) - begin);
      first = last;
    }
  }

  Number shares(Index u, std::int64_t begin, std::int64_t end) const {
    const Index* const to = a_.indices + (a_.indptr[u] - a_.first_nnz);
    Number sum = 0;
    for_successors(begin, end, [&](std::int64_t k) { sum += share_[at(to[k])]; });
    return sum;
  }

  void add_to_edges(Index u, std::int64_t begin, std::int64_t end, double* of_edge) const {
    const auto row = a_.indptr[u] - a_.first_nnz;
    const auto paths = paths_[at(u)];
    for_successors(begin, end, [&](std::int64_t k) {
      of_edge[row + k] += static_cast<double>(paths * share_[at(a_.indices[row + k])]);
    });
  }

  void forget(const Gain& gain) {
    if (gain.dense()) {
      std::fill(level_.begin(), level_.end(), -1);
      std::fill(paths_.begin(), paths_.end(), Number(0));
      return;
    }
    for (std::int64_t i = 0; i < gain.reached; ++i) {
      const auto v = at(gain.order[static_cast<std::size_t>(i)]);
      level_[v] = -1, paths_[v] = 0;
    }
  }

  const CsrView<One>& a_;
  std::vector<Index> level_;
  std::vector<Number> paths_, share_;
  std::vector<Word> leads_down_;
  std::int64_t edges_ = 0;
};

/// Handles sources one after the other. A source with too many paths for double (a grid of 600 x 600 has some) is done again
/// in the widest type that there is.
class Worker {
 public:
  explicit Worker(const CsrView<One>& a) : a_(a), plain_(a) {}
  void run(Index source, bool endpoints, Gain& gain, double* of_edge = nullptr) {
    gain.clear(a_.rows);
    if (plain_.run(source, endpoints, gain, of_edge)) return;
    if (!wide_) wide_ = std::make_unique<OneSource<long double>>(a_);
    if (!wide_->run(source, endpoints, gain, of_edge))
      throw Error(
          Errc::invalid_argument,
          "betweenness: more than 1e" + std::to_string(std::numeric_limits<long double>::max_exponent10 - 9) +
              " shortest paths lead from vertex " + std::to_string(source) + ": leave it out of the sources");
  }

 private:
  const CsrView<One>& a_;
  OneSource<double> plain_;
  std::unique_ptr<OneSource<long double>> wide_;
};

/// The workers that are idle. As many are made as threads run at the same time.
class Workers {
 public:
  explicit Workers(const CsrView<One>& a) : a_(a) {}
  void run(Index source, bool endpoints, Gain& gain) {
    auto worker = take();
    worker->run(source, endpoints, gain);
    const std::lock_guard guard(lock_);
    idle_.push_back(std::move(worker));
  }

 private:
  std::unique_ptr<Worker> take() {
    const std::unique_lock guard(lock_);
    if (idle_.empty()) return std::make_unique<Worker>(a_);
    auto worker = std::move(idle_.back());
    idle_.pop_back();
    return worker;
  }
  const CsrView<One>& a_;
  std::mutex lock_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

/// Adds up in the order of the sources, whichever threads do it.
void add_up(std::span<const Gain> gains, double* sums, std::int64_t vertices) {
  for (std::size_t i = 0; i < gains.size();) {
    if (!gains[i].dense()) {
      for (std::int64_t k = 0; k < gains[i].reached; ++k) {
        const auto v = at(gains[i].order[static_cast<std::size_t>(k)]);
        sums[v] += gains[i].of_vertex[v];
      }
      ++i;
      continue;
    }
    auto last = i;
    while (last < gains.size() && gains[last].dense()) ++last;
    parallel_ranges(vertices, kBlock, [&](std::int64_t begin, std::int64_t end) {
      for (const auto& gain : gains.subspan(i, last - i))
        for (auto v = begin; v < end; ++v) sums[v] += gain.of_vertex[static_cast<std::size_t>(v)];
    });
    i = last;
  }
}

void check(const CsrView<One>& a, std::span<const Index> sources) {
  require(a.rows == a.cols, "betweenness needs a square adjacency matrix, this one is " +
                                std::to_string(a.rows) + " x " + std::to_string(a.cols));
  for (const auto s : sources)
    if (s < 0 || s >= a.rows)
      throw Error(Errc::invalid_argument, "betweenness: source " + std::to_string(s) +
                                              " is outside a graph of " + std::to_string(a.rows) +
                                              " vertices");
}

}  // namespace

Array<double> betweenness(const CsrView<One>& a, std::span<const Index> sources,
                          const BetweennessOptions& options) {
  check(a, sources);
  const auto sums = allocate<double>(a.rows);
  std::fill(sums.data, sums.data + a.rows, 0.0);
  if (sources.empty()) return sums;
  constexpr std::int64_t kVertexBytes = sizeof(double) + sizeof(Index);
  const auto fit = std::clamp<std::int64_t>(kRoundBytes / (kVertexBytes * a.rows), 1, kMostInRound);
  const auto round = std::min<std::int64_t>(std::max<std::int64_t>(fit, num_threads()), std::ssize(sources));
  Workers workers(a);
  std::vector<Gain> gains(static_cast<std::size_t>(round));
  for (std::int64_t first = 0; first < std::ssize(sources); first += round) {
    const auto count = std::min(round, std::ssize(sources) - first);
    parallel_for(count, [&](std::int64_t i) {
      workers.run(sources[static_cast<std::size_t>(first + i)], options.endpoints,
                  gains[static_cast<std::size_t>(i)]);
    });
    add_up(std::span<const Gain>(gains).first(static_cast<std::size_t>(count)), sums.data, a.rows);
    poll_interrupt();
  }
  return sums;
}

Array<double> edge_betweenness(const CsrView<One>& a, std::span<const Index> sources) {
  check(a, sources);
  const auto edges = a.nnz();
  const auto sums = allocate<double>(edges);
  std::fill(sums.data, sums.data + edges, 0.0);
  if (sources.empty() || edges == 0) return sums;
  constexpr std::int64_t kBytes = sizeof(double), kMostLanes = 16;
  const auto fit = std::clamp<std::int64_t>(kRoundBytes / (kBytes * edges), 1, kMostLanes);
  const auto lanes = std::min(fit, std::ssize(sources));
  std::vector<std::vector<double>> of_lane(static_cast<std::size_t>(lanes));
  parallel_for(lanes, [&](std::int64_t lane) {
    auto& mine = of_lane[static_cast<std::size_t>(lane)];
    mine.assign(static_cast<std::size_t>(edges), 0.0);
    Worker worker(a);
    Gain gain;
    for (auto i = lane; i < std::ssize(sources); i += lanes)
      worker.run(sources[static_cast<std::size_t>(i)], false, gain, mine.data());
  });
  parallel_ranges(edges, kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (const auto& mine : of_lane)
      for (auto e = begin; e < end; ++e) sums.data[e] += mine[static_cast<std::size_t>(e)];
  });
  return sums;
}

}  // namespace penstock
