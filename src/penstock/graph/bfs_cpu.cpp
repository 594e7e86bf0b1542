// Breadth-first search that changes direction (Beamer, Asanovic, Patterson 2012). Top-down, the frontier is a list and
// every edge out of it is followed; bottom-up, it is a bitmap and every vertex not yet reached looks for one neighbour
// in it, then stops looking. The few levels that hold most of a small-world graph are cheap bottom-up; the thousands of
// small ones of a road network are cheap top-down, on one thread. What has been reached is a bitmap in both cases, 32
// times smaller than the levels, which are only written.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs.hpp"
#include "penstock/graph/bitmap.hpp"
#include "penstock/graph/expand.hpp"

namespace penstock {

using graph::Frontier;
using graph::Word;

struct BfsPlan::Scratch {
  explicit Scratch(std::int64_t n)
      : vertices(n), a(n), b(n), visited(allocate<Word>(graph::words_of(n))),
        front(allocate<Word>(graph::words_of(n))), found(allocate<Word>(graph::words_of(n))) {}
  std::int64_t vertices;
  Frontier a, b;
  Array<Word> visited, front, found;
  std::vector<Array<Word>> lanes;
};

BfsPlan::BfsPlan() = default;
BfsPlan::~BfsPlan() = default;

std::unique_ptr<BfsPlan::Scratch> BfsPlan::borrow(std::int64_t vertices) {
  {
    const std::lock_guard guard(lock_);
    if (!idle_.empty()) {
      auto scratch = std::move(idle_.back());
      idle_.pop_back();
      if (scratch->vertices == vertices) return scratch;
    }
  }
  return std::make_unique<Scratch>(vertices);
}

void BfsPlan::give_back(std::unique_ptr<Scratch> scratch) {
  const std::lock_guard guard(lock_);
  if (idle_.size() < 4) idle_.push_back(std::move(scratch));
}

namespace {

constexpr std::int64_t kGrain = 64 << 10;     // entries of a fill or a copy that one thread takes at once
constexpr std::int64_t kRowsAtOnce = 4 << 10;
constexpr Index kNone = std::numeric_limits<Index>::max();
constexpr std::int64_t kWordsAtOnce = 128;    // 8192 vertices of a bottom-up step
// A top-down step over fewer edges stays on one thread: waking the others costs as much as some thousand edges, and a
// road network's frontiers never get there. From so many on, threads are woken though they contend for the bits.
constexpr std::int64_t kAloneEdges = 8 << 10, kManyEdges = 128 << 10;
// Nanoseconds of one thread, about, measured on R-MAT and uniform graphs of 2^18 and 2^20 vertices: looking at a vertex
// and its row, a probe of one neighbour, a top-down edge, a vertex that joins the frontier.
constexpr double kLook = 10, kProbe = 1.2, kEdge = 1.5, kArrive = 2;

void fill(Array<Index> a, Index value) {
  parallel_ranges(a.size, kGrain, [&](std::int64_t first, std::int64_t last) {
    std::fill(a.data + first, a.data + last, value);
  });
}

class Search {
 public:
  Search(const BfsGraph& graph, BfsPlan& plan, BfsPlan::Scratch& s, BfsResult& result)
      : g_(graph), plan_(plan), s_(s), result_(result), words_(graph::words_of(graph.out.rows)),
        levels_(result.levels.data), unexplored_(graph.out.nnz()) {}

  void run(Index source) {
    std::fill_n(s_.visited.data, words_, Word(0));
    if (const auto tail = g_.out.rows & 63; tail) s_.visited.data[words_ - 1] = ~Word(0) << tail;
    graph::claim_bit<false>(s_.visited.data, source);
    levels_[source] = 0;
    current_->clear();
    *current_->append(1, degree(source)) = source;
    size_ = 1, edges_ = degree(source);
    result_.reached = 1;
    while (edges_ > 0) {
      ++depth_;
      unexplored_ -= edges_;
      const bool turn = prefers_bottom_up();
      if (turn && g_.in) {
        bottom_up();
      } else {
        if (turn) result_.missed += edges_;
        top_down();
      }
      result_.reached += size_;
      if (size_ > 0) result_.depth = depth_;
    }
  }

 private:
  Offset degree(Index v) const { return g_.out.indptr[v + 1] - g_.out.indptr[v]; }
  double targets() const {
    return static_cast<double>(g_.in ? plan_.targets(*g_.in).count : g_.out.rows);
  }

  /// Compares what the two steps are expected to cost. Of the edges into an unreached vertex, the share q comes from
  /// the frontier: the vertex is found with probability 1 - (1 - q)^degree, after that / q probes.
  bool prefers_bottom_up() const {
    if (listed_ && edges_ < kAloneEdges) return false;
    const auto edges = static_cast<double>(edges_), left = static_cast<double>(unexplored_);
    const auto unreached = std::max(1.0, targets() - static_cast<double>(result_.reached));
    const auto q = edges / (edges + left);
    const auto hit = 1 - std::pow(1 - q, left / unreached);
    const auto up = static_cast<double>(words_) + unreached * (kLook + hit / q * kProbe);
    return up < edges * kEdge + (unreached * hit + static_cast<double>(size_)) * kArrive;
  }

  void top_down() {
    const auto lanes = num_threads();
    // In bits, the work beyond the edges is some words for each lane.
    if (edges_ >= kAloneEdges && edges_ >= words_ * (lanes + 1) / 4 && lanes > 1) return top_down_in_bits();
    if (!listed_) list();
    next_->clear();
    const auto depth = depth_;
    Index* const levels = levels_;
    Word* const visited = s_.visited.data;
    const auto arrive = [=](Index v) { levels[v] = depth; };
    if (edges_ < kManyEdges || lanes == 1) {
      graph::advance_alone(graph::Direct{}, g_.out, current_->vertices(), *next_,
                     [=](Index, Index v, Offset) { return graph::claim_bit<false>(visited, v); }, arrive);
    } else {
      graph::advance(graph::Direct{}, g_.out, current_->vertices(), *next_,
                     [=](Index, Index v, Offset) { return graph::claim_bit<true>(visited, v); }, arrive);
    }
    std::swap(current_, next_);
    size_ = current_->size(), edges_ = current_->edges();
  }

  /// Every thread marks what its edges lead to in a bitmap of its own: no atomics, no lines of memory that travel
  /// between the cores. What is new is then found in vertex order.
  void top_down_in_bits() {
    if (!listed_) list();
    const auto lanes = static_cast<std::size_t>(num_threads());
    while (s_.lanes.size() < lanes) s_.lanes.push_back(allocate<Word>(words_));
    parallel_for(static_cast<std::int64_t>(lanes), [&](std::int64_t lane) {
      std::fill_n(s_.lanes[static_cast<std::size_t>(lane)].data, words_, Word(0));
    });
    graph::expand(graph::Direct{}, g_.out, current_->vertices(), [&](Index, Index v, Offset, std::int64_t lane) {
      s_.lanes[static_cast<std::size_t>(lane)].data[graph::word_of(v)] |= graph::bit_of(v);
    });
    listed_ = false;
    settle([&](std::int64_t w) {
      Word reached = 0;
      for (std::size_t lane = 0; lane < lanes; ++lane) reached |= s_.lanes[lane].data[w];
      return reached & ~s_.visited.data[w];
    });
  }

  /// The frontier as bits; from here on, vertices that nothing leads to count as visited.
  void mark() {
    if (std::exchange(listed_, false)) {
      std::fill_n(s_.front.data, words_, Word(0));
      for (const auto v : current_->vertices()) graph::claim_bit<false>(s_.front.data, v);
    }
    if (std::exchange(masked_, true)) return;
    const auto& none = plan_.targets(*g_.in).none;
    for (std::int64_t w = 0; w < words_; ++w) s_.visited.data[w] |= none[static_cast<std::size_t>(w)];
  }

  /// The frontier as a list, in ascending order.
  void list() {
    listed_ = true;
    current_->clear();
    Index* const out = current_->append(size_, edges_);
    const auto blocks = (words_ + kWordsAtOnce - 1) / kWordsAtOnce;
    std::vector<std::int64_t> before(static_cast<std::size_t>(blocks) + 1);
    for (std::int64_t b = 0; b < blocks; ++b)
      before[static_cast<std::size_t>(b) + 1] = before[static_cast<std::size_t>(b)] + counts_[static_cast<std::size_t>(b)];
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

  /// The next frontier, in bits: found(w) says who of the 64 vertices of word w is in it.
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
          levels_[v] = depth_;
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

  /// Of 64 vertices, those that are unreached and have a neighbour in the frontier.
  Word find_in_front(std::int64_t w) const {
    const auto& in = *g_.in;
    const Index* from = in.indices - in.first_nnz;
    Word found = 0;
    for (Word todo = ~s_.visited.data[w]; todo; todo &= todo - 1) {
      const auto b = std::countr_zero(todo);
      const auto v = w * 64 + b;
      for (auto k = in.indptr[v], end = in.indptr[v + 1]; k < end; ++k)
        if (graph::test_bit(s_.front.data, from[k])) {
          found |= Word(1) << b;
          break;
        }
    }
    return found;
  }

  const BfsGraph& g_;
  BfsPlan& plan_;
  BfsPlan::Scratch& s_;
  BfsResult& result_;
  std::int64_t words_;
  Index* levels_;
  Frontier *current_ = &s_.a, *next_ = &s_.b;
  bool listed_ = true, masked_ = false;  // the frontier is *current_, else the bits of s_.front
  std::int64_t size_ = 0, edges_ = 0;    // of the frontier
  std::int64_t unexplored_;              // edges out of vertices that no step has walked yet
  Index depth_ = 0;
  std::vector<std::int64_t> counts_;  // of vertices in every kWordsAtOnce words of s_.front
};

/// With edges into each vertex: the first neighbour one level up, in rows that ascend the smallest.
void find_predecessors(const CsrView<One>& in, bool ascending, const Index* levels, Array<Index> out) {
  const Index* from = in.indices - in.first_nnz;
  parallel_ranges(in.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) {
      Index best = kNone;
      if (levels[v] > 0)
        for (auto k = in.indptr[v], end = in.indptr[v + 1]; k < end; ++k)
          if (from[k] < best && levels[from[k]] == levels[v] - 1) {
            best = from[k];
            if (ascending) break;
          }
      out.data[v] = best == kNone ? kNoPredecessor : best;
    }
    poll_interrupt();
  });
}

/// Without them: every reached vertex offers itself along its edges, and the smallest offer stays.
void offer_predecessors(const CsrView<One>& a, const Index* levels, Array<Index> out) {
  fill(out, kNone);
  const Index* to = a.indices - a.first_nnz;
  parallel_ranges(a.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      if (levels[u] < 0) continue;
      for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k) {
        if (levels[to[k]] != levels[u] + 1) continue;
        const std::atomic_ref<Index> cell(out.data[to[k]]);
        auto held = cell.load(std::memory_order_relaxed);
        while (u < held && !cell.compare_exchange_weak(held, static_cast<Index>(u), std::memory_order_relaxed)) {}
      }
    }
    poll_interrupt();
  });
  parallel_ranges(out.size, kGrain, [&](std::int64_t first, std::int64_t last) {
    std::replace(out.data + first, out.data + last, kNone, kNoPredecessor);
  });
}

}  // namespace

const BfsPlan::Targets& BfsPlan::targets(const CsrView<One>& in) {
  std::call_once(made_, [&] {
    targets_.none.resize(static_cast<std::size_t>(graph::words_of(in.rows)));
    for (std::int64_t v = 0; v < in.rows; ++v)
      if (in.indptr[v] == in.indptr[v + 1]) graph::claim_bit<false>(targets_.none.data(), static_cast<Index>(v));
      else ++targets_.count;
  });
  return targets_;
}

bool BfsPlan::ascending(const CsrView<One>& in) {
  std::call_once(looked_, [&] {
    std::atomic<bool> fall = false;
    parallel_ranges(in.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last && !fall.load(std::memory_order_relaxed); ++v)
        if (!std::is_sorted(in.indices + (in.indptr[v] - in.first_nnz),
                            in.indices + (in.indptr[v + 1] - in.first_nnz)))
          fall = true;
    });
    ascending_ = !fall;
  });
  return ascending_;
}

BfsResult bfs(const BfsGraph& graph, Index source, BfsPlan& plan, BfsOptions options) {
  const auto n = graph.out.rows;
  require(graph.out.cols == n && (!graph.in || (graph.in->rows == n && graph.in->cols == n)),
          "bfs needs a square adjacency matrix, this one is " + std::to_string(n) + " x " +
              std::to_string(graph.out.cols));
  require(0 <= source && source < n, "bfs: source " + std::to_string(source) + " is outside a graph of " +
                                         std::to_string(n) + " vertices");
  BfsResult result{allocate<Index>(n), {}};
  fill(result.levels, kUnreached);
  auto scratch = plan.borrow(n);
  Search(graph, plan, *scratch, result).run(source);
  plan.give_back(std::move(scratch));
  if (!options.predecessors) return result;
  result.predecessors = allocate<Index>(n);
  if (graph.in) find_predecessors(*graph.in, plan.ascending(*graph.in), result.levels.data, result.predecessors);
  else offer_predecessors(graph.out, result.levels.data, result.predecessors);
  return result;
}

}  // namespace penstock
