// A minimum spanning forest by the rounds of Boruvka (1926): every tree takes the smallest edge that leaves it, and the trees
// that these edges join become one. Edges are ordered by value and then by number, so no two are equal, and of the edges
// that are taken only those that two trees choose of each other close a cycle. Edges stay where they were listed, in chunks
// that each round compacts in place: what lies within a tree is never looked at again. Of a graph with many edges the lightest
// come first; they join most vertices, and of the others only those are listed that still join two trees (Osipov, Sanders,
// Singler 2009).
#include "penstock/graph/cc/spanning.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kChunkOfEdges = 64 << 10;  // entries of the matrix that one thread lists and compacts
constexpr std::int64_t kChunkOfTrees = 8 << 10;
constexpr Offset kNoEdge = -1;
// Lightest edges that are looked at first, for each vertex, and how many times as many there must be for that to pay. R-MAT 18
// (15 edges a vertex, one thread): 0.31 s with 2, 0.71 s where all are listed at once.
constexpr double kFirst = 2, kPays = 4;
constexpr std::int64_t kSamples = 8 << 10;

template <class V>
class Boruvka {
 public:
  Boruvka(const Csr<V>& a, bool mirrored)
      : a_(a),
        mirrored_(mirrored),
        from_(allocate<Index>(a.nnz())),
        to_(allocate<Index>(a.nnz())),
        value_(allocate<V>(is_pattern<V> ? 0 : a.nnz())),
        left_(at((a.nnz() + kChunkOfEdges - 1) / kChunkOfEdges)),
        tree_(at(a.rows)),
        parent_(at(a.rows)),
        best_(at(a.rows), kNoEdge),
        live_(at(a.rows)) {
    std::iota(tree_.begin(), tree_.end(), Index(0));
    parent_ = live_ = tree_;
  }

  SpanningForest<V> run() {
    find_heavy();
    list_edges(false);
    while (choose()) join();
    if (heavy_first_ < a_.nnz()) {
      for (Index v = 0; v < a_.rows; ++v)
        if (parent_[at(v)] == v) live_.push_back(v);
      list_edges(true);
      while (choose()) join();
    }
    return taken();
  }

 private:
  struct Edge {
    Index from, to;
    V value;
  };

  bool is_edge(std::int64_t row, Index col) const { return mirrored_ ? row < col : row != col; }

  /// Says from where on entries are heavy, by a sample: above a value, or in a pattern from an entry on.
  void find_heavy() {
    std::vector<V> values;
    std::int64_t count = 0, seen = 0;
    const auto step = std::max<std::int64_t>(1, a_.nnz() / kSamples);
    for (Offset k = 0; k < a_.nnz(); k += step, ++seen) {
      const auto row = std::upper_bound(a_.indptr.data, a_.indptr.data + a_.rows + 1, k) - a_.indptr.data - 1;
      if (!is_edge(row, a_.indices.data[k])) continue;
      ++count;
      if constexpr (!is_pattern<V>)
        if (a_.values.data[k] == a_.values.data[k]) values.push_back(a_.values.data[k]);
    }
    if (count == 0) return;
    const auto edges = static_cast<double>(a_.nnz()) * static_cast<double>(count) / static_cast<double>(seen);
    const auto share = kFirst * static_cast<double>(a_.rows) / edges;
    if (share * kPays > 1) return;
    if constexpr (is_pattern<V>) {
      heavy_first_ = static_cast<Offset>(share * static_cast<double>(a_.nnz()));
    } else if (!values.empty()) {
      const auto at_share =
          values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
      std::nth_element(values.begin(), at_share, values.end());
      light_ = *at_share;
      heavy_first_ = 0;
    }
  }
  bool is_heavy(Offset k) const {
    if constexpr (is_pattern<V>) return k >= heavy_first_;
    else return heavy_first_ == 0 && a_.values.data[k] > light_;
  }

  /// Lists edges: those that are not heavy, or the heavy ones that join two trees.
  void list_edges(bool heavy) {
    std::atomic<Offset> bad = std::numeric_limits<Offset>::max();
    parallel_for(std::ssize(left_), [&](std::int64_t c) {
      const auto first = c * kChunkOfEdges, last = std::min(first + kChunkOfEdges, a_.nnz());
      const auto* const begin = a_.indptr.data;
      auto row = std::upper_bound(begin, begin + a_.rows + 1, first) - begin - 1;
      auto out = first;
      for (auto k = first; k < last; ++k) {
        while (begin[row + 1] <= k) ++row;
        const auto col = a_.indices.data[k];
        if constexpr (!is_pattern<V>) {
          if (a_.values.data[k] != a_.values.data[k]) {
            auto now = bad.load(std::memory_order_relaxed);
            while (k < now && !bad.compare_exchange_weak(now, k, std::memory_order_relaxed)) {}
          }
        }
        if (!is_edge(row, col) || is_heavy(k) != heavy || (heavy && tree_[at(row)] == tree_[at(col)]))
          continue;
        from_.data[out] = static_cast<Index>(row);
        to_.data[out] = col;
        if constexpr (!is_pattern<V>) value_.data[out] = a_.values.data[k];
        ++out;
      }
      left_[at(c)] = out - first;
      poll_interrupt();
    });
    if (bad == std::numeric_limits<Offset>::max()) return;
    const auto row = std::upper_bound(a_.indptr.data, a_.indptr.data + a_.rows + 1, bad.load()) - 1;
    throw Error(Errc::invalid_argument, "the edge " + std::to_string(row - a_.indptr.data) + " -> " +
                                            std::to_string(a_.indices.data[bad.load()]) +
                                            " has weight nan: weights must be numbers");
  }

  bool less(Offset p, Offset q) const {
    if constexpr (!is_pattern<V>)
      if (value_.data[p] != value_.data[q]) return value_.data[p] < value_.data[q];
    return p < q;
  }
  /// Other threads read the values of p once they find it.
  void offer(Index tree, Offset p) {
    const std::atomic_ref<Offset> cell(best_[at(tree)]);
    auto now = cell.load(std::memory_order_acquire);
    while (now == kNoEdge || less(p, now))
      if (cell.compare_exchange_weak(now, p, std::memory_order_acq_rel, std::memory_order_acquire)) return;
  }

  /// Drops the edges within trees, and finds the smallest of each tree. Returns whether there is an edge left.
  bool choose() {
    std::atomic<bool> any = false;
    parallel_for(std::ssize(left_), [&](std::int64_t c) {
      const auto first = c * kChunkOfEdges, last = first + left_[at(c)];
      auto out = first;
      for (auto p = first; p < last; ++p) {
        const auto u = from_.data[p], v = to_.data[p];
        const auto s = tree_[at(u)], t = tree_[at(v)];
        if (s == t) continue;
        from_.data[out] = u, to_.data[out] = v;
        if constexpr (!is_pattern<V>) value_.data[out] = value_.data[p];
        offer(s, out);
        offer(t, out);
        ++out;
      }
      left_[at(c)] = out - first;
      if (out > first) any.store(true, std::memory_order_relaxed);
      poll_interrupt();
    });
    return any;
  }

  /// The tree at the other end of a tree's smallest edge.
  Index beyond(Index tree) const {
    const auto p = best_[at(tree)];
    const auto s = tree_[at(from_.data[p])];
    return s == tree ? tree_[at(to_.data[p])] : s;
  }

  void join() {
    const auto chunks = (std::ssize(live_) + kChunkOfTrees - 1) / kChunkOfTrees;
    std::vector<std::vector<Edge>> found(at(chunks));
    parallel_ranges(std::ssize(live_), kChunkOfTrees, [&](std::int64_t first, std::int64_t last) {
      auto& out = found[at(first / kChunkOfTrees)];
      for (auto i = first; i < last; ++i) {
        const auto t = live_[at(i)];
        const auto p = best_[at(t)];
        if (p == kNoEdge) continue;
        const auto other = beyond(t);
        if (best_[at(other)] == p && t < other) continue;  // the other one does it
        parent_[at(t)] = other;
        out.push_back({from_.data[p], to_.data[p], {}});
        if constexpr (!is_pattern<V>) out.back().value = value_.data[p];
      }
    });
    for (const auto& f : found) edges_.insert(edges_.end(), f.begin(), f.end());
    parallel_ranges(std::ssize(tree_), kChunkOfTrees, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) tree_[at(v)] = root(tree_[at(v)]);
      poll_interrupt();
    });
    std::erase_if(live_, [&](Index t) { return parent_[at(t)] != t || best_[at(t)] == kNoEdge; });
    for (const auto t : live_) best_[at(t)] = kNoEdge;
  }
  /// Halves the path on its way, while other threads may do the same.
  Index root(Index t) {
    for (;;) {
      const std::atomic_ref<Index> here(parent_[at(t)]);
      const auto up = here.load(std::memory_order_relaxed);
      const auto above = std::atomic_ref<Index>(parent_[at(up)]).load(std::memory_order_relaxed);
      if (above == up) return up;
      here.store(above, std::memory_order_relaxed);
      t = above;
    }
  }

  SpanningForest<V> taken() const {
    const auto n = std::ssize(edges_);
    SpanningForest<V> f{allocate<Index>(n), allocate<Index>(n), allocate<V>(is_pattern<V> ? 0 : n)};
    for (std::int64_t i = 0; i < n; ++i) {
      f.row.data[i] = edges_[at(i)].from, f.col.data[i] = edges_[at(i)].to;
      if constexpr (!is_pattern<V>) f.values.data[i] = edges_[at(i)].value;
    }
    return f;
  }

  const Csr<V>& a_;
  bool mirrored_;
  Offset heavy_first_ = std::numeric_limits<Offset>::max();  // 0 where values say which entries are heavy
  V light_{};                                                // the largest value that is not
  Array<Index> from_, to_;  // of the edges that are left; chunk c begins at c * kChunkOfEdges
  Array<V> value_;
  std::vector<std::int64_t> left_;  // a chunk
  std::vector<Index> tree_;         // of each vertex, by number of one of its vertices
  std::vector<Index> parent_;       // of a tree that has been joined to another one
  std::vector<Offset> best_;        // of each tree, where its smallest edge is
  std::vector<Index> live_;         // trees that may have an edge out of them, ascending
  std::vector<Edge> edges_;
};

}  // namespace

template <class V>
SpanningForest<V> minimum_spanning_forest(const Csr<V>& a, bool mirrored) {
  require(a.rows == a.cols, "a spanning forest needs a square matrix, this one is " + std::to_string(a.rows) +
                                " x " + std::to_string(a.cols));
  return Boruvka<V>(a, mirrored).run();
}

#define X(V) template SpanningForest<V> minimum_spanning_forest(const Csr<V>&, bool);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
