// Weakly connected components. If edges are known in both directions, a search from a vertex of high degree finds the giant
// component of a small-world graph, and looks at few of its edges (Slota, Rajamanickam, Madduri 2014, who search by levels);
// the rest is small. If that does not succeed in a few steps, as in a road network, Afforest is used (Sutton, Ben-Nun, Barak
// 2018): trees grow from a few edges of every vertex; then all other edges are used, but those of vertices in the most
// common tree are left out. Most of the first few edges stay inside blocks of consecutive vertices, of which a thread takes
// one at a time, in its cache.
#include "penstock/graph/cc/cc.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/search.hpp"
#include "penstock/graph/cc/forest.hpp"

namespace penstock {
namespace {

using graph::any_end;
using graph::degree_of;
using graph::Forest;
using graph::same_lists;
using graph::Word;

constexpr std::int64_t kHooksOfATask = 16 << 10;
constexpr std::int64_t kRounds = 2;                   // edges of every vertex that are used first
constexpr Index kPatience = 32;                       // levels in which the search must meet a large frontier
constexpr std::int64_t kBlockOfVertices = 256 << 10;  // vertices: their parents take a megabyte
constexpr int kHubSamples = 256, kRootSamples = 1024;

/// Draws numbers below n, from a seed.
class Draw {
 public:
  std::int64_t operator()(std::int64_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state_ >> 24) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15;
};

/// The vertex of highest degree among the ends of some edges, because ends of edges have high degrees. The graph has edges.
Index hub_of(const CsrView<One>& a) {
  Index best = a.indices[0];
  Draw draw;
  for (int i = 0; i < kHubSamples; ++i) {
    const Index v = a.indices[draw(a.nnz())];
    if (degree_of(a, v) > degree_of(a, best)) best = v;
  }
  return best;
}
/// The same of lists whose edges have no numbers through the graph: among ends of lists that are drawn. A drawn vertex without edges gives
/// its place to one with some behind it.
template <class Rows>
Index hub_of(const Rows& a) {
  constexpr std::int64_t kLooks = 1 << 10;
  Index best = -1;
  Draw draw;
  const auto offer = [&](std::int64_t v) {
    Offset skip = draw(std::min<Offset>(degree_of(a, v), kPackedChunk));
    any_end(a, v, [&](Index u) {
      if (skip-- > 0) return false;
      if (best < 0 || degree_of(a, u) > degree_of(a, best)) best = u;
      return true;
    });
  };
  for (int i = 0; i < kHubSamples; ++i) {
    auto v = draw(a.rows);
    const auto end = std::min(a.rows, v + kLooks);
    while (v < end && degree_of(a, v) == 0) ++v;
    if (v < end) offer(v);
  }
  for (std::int64_t v = 0; best < 0; ++v)
    if (degree_of(a, v) > 0) offer(v);
  return best;
}

/// f(u) for the ends of v's edges behind the first `skip`.
template <class Rows, class F>
void for_each_edge(const Rows& a, std::int64_t v, F&& f, Offset skip = 0) {
  any_end(a, v, [&](Index u) {
    if (skip > 0) --skip;
    else f(u);
    return false;
  });
}
template <class F>
void for_each_edge(const CsrView<One>& a, std::int64_t v, F&& f, Offset skip = 0) {
  const Index* to = a.indices - a.first_nnz;
  for (auto k = a.indptr[v] + skip, end = a.indptr[v + 1]; k < end; ++k) f(to[k]);
}

/// Counts the bits that are set before a vertex's bit.
class Ranks {
 public:
  Ranks(const Word* bits, std::int64_t n)
      : bits_(bits), before_(static_cast<std::size_t>(graph::words_of(n)) + 1) {
    for (std::size_t w = 0; w + 1 < before_.size(); ++w) before_[w + 1] = before_[w] + std::popcount(bits[w]);
  }
  Index operator()(Index v) const {
    return before_[graph::word_of(v)] + std::popcount(bits_[graph::word_of(v)] & (graph::bit_of(v) - 1));
  }
  std::int64_t count() const { return before_.back(); }

 private:
  const Word* bits_;
  std::vector<Index> before_;
};

template <class Rows>
class Finder {
 public:
  Finder(const GraphOf<Rows>& g, Forest forest, Array<Index> labels)
      : g_(g), n_(g.out.rows), forest_(forest), labels_(std::move(labels)) {}

  /// Unites the ends of a few edges of every vertex: inside blocks of vertices by one thread for each block, and between
  /// blocks by all threads.
  void sample() {
    const auto block = std::clamp<std::int64_t>(n_ / num_threads(), 4 << 10, kBlockOfVertices);
    std::vector<std::vector<std::pair<Index, Index>>> between(
        static_cast<std::size_t>((n_ + block - 1) / block));
    const auto& a = g_.out;
    parallel_ranges(n_, block, [&](std::int64_t first, std::int64_t last) {
      auto& later = between[static_cast<std::size_t>(first / block)];
      for (auto v = first; v < last; ++v) forest_.set(v, static_cast<Index>(v));
      for (auto v = first; v < last; ++v) {
        std::int64_t left = kRounds;
        any_end(a, v, [&](Index u) {
          if (first <= u && u < last) forest_.unite_alone(static_cast<Index>(v), u);
          else later.emplace_back(static_cast<Index>(v), u);
          return --left == 0;
        });
      }
    });
    parallel_for(std::ssize(between), [&](std::int64_t b) {
      for (const auto& [v, u] : between[static_cast<std::size_t>(b)]) forest_.unite(v, u);
    });
    parallel_ranges(n_, kHooksOfATask,
                    [&](std::int64_t first, std::int64_t last) { forest_.flatten(first, last); });
  }

  /// Unites the ends of all other edges. If there are rows in both directions, rows of vertices in the most common tree are
  /// left out: the rows of the other ends have the same edges.
  void unite_all() {
    const Index common = g_.in ? most_common_root() : -1;
    parallel_ranges(n_, kHooksOfATask / 4, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) {
        if (forest_.parent(v) == common) continue;
        const auto take = [&](Index u) { forest_.unite(static_cast<Index>(v), u); };
        for_each_edge(g_.out, v, take, kRounds);
        if (g_.in && two_sided()) for_each_edge(*g_.in, v, take);
      }
      poll_interrupt();
    });
  }

  Index most_common_root() const {
    std::vector<Index> roots(kRootSamples);
    Draw draw;
    for (auto& r : roots) r = forest_.parent(draw(n_));
    std::sort(roots.begin(), roots.end());
    Index best = roots[0];
    std::ptrdiff_t most = 0;
    for (auto i = roots.begin(); i != roots.end();) {
      const auto end = std::upper_bound(i, roots.end(), *i);
      if (end - i > most) most = end - i, best = *i;
      i = end;
    }
    return best;
  }

  static Index first_of(const std::vector<Word>& none, const Word* reached) {
    std::int64_t w = 0;
    while ((reached[w] & ~none[static_cast<std::size_t>(w)]) == 0) ++w;
    return static_cast<Index>(w * 64 + std::countr_zero(reached[w] & ~none[static_cast<std::size_t>(w)]));
  }

  /// Unites the vertices that the search did not reach, except vertices without edges. `giant` stands for all reached ones.
  void unite_rest(const std::vector<Word>& none, const Word* reached, Index giant) {
    const auto for_rest = [&](std::int64_t words, auto&& f) {
      parallel_ranges(std::ssize(none), words, [&](std::int64_t first, std::int64_t last) {
        for (auto w = first; w < last; ++w)
          for (Word bits = ~reached[w] & ~none[static_cast<std::size_t>(w)]; bits; bits &= bits - 1)
            f(static_cast<Index>(w * 64 + std::countr_zero(bits)));
        poll_interrupt();
      });
    };
    forest_.set(giant, giant);
    for_rest(kHooksOfATask / 64, [&](Index v) { forest_.set(v, v); });
    for_rest(kHooksOfATask / 256, [&](Index v) {
      const auto take = [&](Index u) { forest_.unite(v, graph::test_bit(reached, u) ? giant : u); };
      for_each_edge(g_.out, v, take);
      if (two_sided()) for_each_edge(*g_.in, v, take);
    });
  }

  std::int64_t number_forest(Word* roots) {
    parallel_ranges(graph::words_of(n_), kHooksOfATask / 64, [&](std::int64_t first, std::int64_t last) {
      forest_.flatten(first * 64, std::min(last * 64, n_));
      for (auto w = first; w < last; ++w) {
        Word bits = 0;
        for (auto v = w * 64; v < std::min(w * 64 + 64, n_); ++v)
          bits |= Word(forest_.parent(v) == v) << (v & 63);
        roots[w] = bits;
      }
    });
    const Ranks rank(roots, n_);
    parallel_ranges(n_, kHooksOfATask, [&](std::int64_t first, std::int64_t last) {
      Index root = -1, label = 0;  // of the vertex before, which is often in the same tree
      for (auto v = first; v < last; ++v) {
        if (const auto p = forest_.parent(v); p != root) root = p, label = rank(p);
        labels_.data[v] = label;
      }
    });
    return rank.count();
  }

  /// Numbers the components: vertices in `none` and roots of the rest are roots, and all reached vertices belong to `giant`.
  std::int64_t number_rest(const std::vector<Word>& none, const Word* reached, Index giant, Word* roots) {
    std::copy(none.begin(), none.end(), roots);
    const auto common = forest_.root(giant);
    graph::claim_bit<false>(roots, common);
    std::vector<std::pair<Index, Index>> rest;
    for (std::int64_t w = 0; w < std::ssize(none); ++w)
      for (Word bits = ~reached[w] & ~none[static_cast<std::size_t>(w)]; bits; bits &= bits - 1) {
        const auto v = static_cast<Index>(w * 64 + std::countr_zero(bits));
        rest.emplace_back(v, forest_.root(v));
        if (rest.back().second == v) graph::claim_bit<false>(roots, v);
      }
    const Ranks rank(roots, n_);
    const auto most = rank(common);
    parallel_ranges(n_, kHooksOfATask, [&](std::int64_t first, std::int64_t last) {
      auto next = rank(static_cast<Index>(first));
      for (auto v = first; v < last; ++v) {  // without a branch, which could not be predicted
        const auto root = static_cast<Index>(graph::test_bit(roots, static_cast<Index>(v)));
        labels_.data[v] = root ? next : most;
        next += root;
      }
    });
    for (const auto& [v, root] : rest) labels_.data[v] = rank(root);
    return rank.count();
  }

 private:
  bool two_sided() const { return !same_lists(*g_.in, g_.out); }

  const GraphOf<Rows>& g_;
  std::int64_t n_;
  Forest forest_;
  Array<Index> labels_;
};

template <class Rows>
Components find_components(const GraphOf<Rows>& g, BfsPlan& plan) {
  const auto n = g.out.rows;
  require(g.out.cols == n, "connected_components needs a square adjacency matrix, this one is " +
                               std::to_string(n) + " x " + std::to_string(g.out.cols));
  Components c{0, plan.result(n)};
  if (n == 0) return c;
  auto scratch = plan.borrow(n);
  if (scratch->parents.size != n) scratch->parents = allocate<Index>(n);
  Finder find(g, Forest(scratch->parents.data), c.labels);
  const bool both = g.in && same_lists(*g.in, g.out);
  bool flooded = false;
  if (both && g.out.nnz() > 0) {
    graph::Search<false, Rows> search(g, plan.targets(g), *scratch, nullptr);
    search.clear();
    flooded = search.flood(hub_of(g.out), kPatience);
  }
  auto* const roots = scratch->found.data;
  if (flooded) {
    const auto& none = plan.targets(g).none;
    const auto giant = find.first_of(none, scratch->visited.data);
    find.unite_rest(none, scratch->visited.data, giant);
    c.count = find.number_rest(none, scratch->visited.data, giant, roots);
  } else {
    find.sample();
    find.unite_all();
    c.count = find.number_forest(roots);
  }
  if (!g.in) c.missed = g.out.nnz();
  plan.give_back(std::move(scratch));
  return c;
}

}  // namespace

Components connected_components(const BfsGraph& g, BfsPlan& plan) { return find_components(g, plan); }
Components connected_components(const PackedGraph& g, BfsPlan& plan) { return find_components(g, plan); }
Components connected_components(const PatchedGraph& g, BfsPlan& plan) { return find_components(g, plan); }
Components connected_components(const PatchedPackedGraph& g, BfsPlan& plan) {
  return find_components(g, plan);
}

}  // namespace penstock
