// Weakly connected components by Afforest (Sutton, Ben-Nun, Barak 2018). A forest over the vertices, whose roots are the
// smallest vertices of their trees, takes in a few edges of every vertex first. By then most vertices share one tree; a
// sample says which, and its vertices are left out when all other edges follow.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/cc.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRounds = 2;      // edges of every vertex that go first
constexpr int kSample = 1024;
constexpr std::int64_t kGrain = 16 << 10;

class Forest {
 public:
  explicit Forest(std::int64_t n) : parent_(allocate<Index>(n)) {}

  Index parent(std::int64_t v) const {
    return std::atomic_ref<Index>(parent_.data[v]).load(std::memory_order_relaxed);
  }
  void set(std::int64_t v, Index p) { std::atomic_ref<Index>(parent_.data[v]).store(p, std::memory_order_relaxed); }

  /// One tree for u and v: the larger root goes under the smaller. Lock-free.
  void unite(Index u, Index v) {
    Index a = parent(u), b = parent(v);
    while (a != b) {
      Index high = std::max(a, b);
      const Index low = std::min(a, b);
      const Index above = parent(high);
      if (above == low) return;
      if (above == high && std::atomic_ref<Index>(parent_.data[high])
                               .compare_exchange_strong(high, low, std::memory_order_relaxed))
        return;
      a = parent(parent(std::max(a, b)));
      b = parent(low);
    }
  }
  /// Every vertex right under its root. Parents are smaller, so in ascending order they are done first.
  void flatten(std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) {
      auto p = parent(v);
      if (p == v) continue;
      for (auto above = parent(p); above != p; above = parent(p)) p = above;
      set(v, p);
    }
  }
  void flatten() {
    parallel_ranges(parent_.size, kGrain, [this](std::int64_t first, std::int64_t last) { flatten(first, last); });
  }
  Index* data() { return parent_.data; }
  std::int64_t size() const { return parent_.size; }

 private:
  Array<Index> parent_;
};

/// The root that most of a fixed sample of vertices have.
Index most_frequent_root(const Forest& forest) {
  std::vector<Index> roots(kSample);
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (auto& r : roots) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    r = forest.parent(static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(forest.size())));
  }
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

void unite_row(Forest& forest, const CsrView<One>& a, std::int64_t v, std::int64_t skip) {
  const Index* row = a.indices + (a.indptr[v] - a.first_nnz);
  const auto length = a.indptr[v + 1] - a.indptr[v];
  for (auto k = skip; k < length; ++k) forest.unite(static_cast<Index>(v), row[k]);
}

void sample_edges(Forest& forest, const CsrView<One>& a) {
  parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) forest.set(v, static_cast<Index>(v));
  });
  for (std::int64_t round = 0; round < kRounds; ++round) {
    parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) {
        const auto k = a.indptr[v] + round;
        if (k < a.indptr[v + 1]) forest.unite(static_cast<Index>(v), a.indices[k - a.first_nnz]);
      }
    });
    forest.flatten();
  }
}

/// Numbers the roots in ascending order and gives every vertex its root's number.
Components number(Forest& forest) {
  const auto n = forest.size(), blocks = (n + kGrain - 1) / kGrain;
  std::vector<std::int64_t> before(static_cast<std::size_t>(blocks) + 1);
  parallel_ranges(n, kGrain, [&](std::int64_t first, std::int64_t last) {
    forest.flatten(first, last);
    std::int64_t roots = 0;
    for (auto v = first; v < last; ++v) roots += forest.parent(v) == v;
    before[static_cast<std::size_t>(first / kGrain) + 1] = roots;
  });
  for (std::size_t b = 1; b < before.size(); ++b) before[b] += before[b - 1];
  const auto rank = allocate<Index>(n);
  Components out{before.back(), allocate<Index>(n)};
  parallel_ranges(n, kGrain, [&](std::int64_t first, std::int64_t last) {
    auto next = static_cast<Index>(before[static_cast<std::size_t>(first / kGrain)]);
    for (auto v = first; v < last; ++v)
      if (forest.parent(v) == v) rank.data[v] = next++;
  });
  parallel_ranges(n, kGrain, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) out.labels.data[v] = rank.data[forest.parent(v)];
  });
  return out;
}

}  // namespace

Components connected_components(const ComponentsGraph& graph) {
  const auto& a = graph.out;
  require(a.rows == a.cols, "connected_components needs a square adjacency matrix, this one is " +
                                std::to_string(a.rows) + " x " + std::to_string(a.cols));
  if (a.rows == 0) return {};
  Forest forest(a.rows);
  sample_edges(forest, a);
  // An edge has two ends, so that with edges in both directions a vertex of the common tree may be left out. Otherwise
  // an edge out of it is seen from nowhere else.
  const Index common = graph.in ? most_frequent_root(forest) : -1;
  const bool both = graph.in && graph.in->indices != a.indices;
  parallel_ranges(a.rows, kGrain / 16, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) {
      if (forest.parent(v) == common) continue;
      unite_row(forest, a, v, kRounds);
      if (both) unite_row(forest, *graph.in, v, 0);
    }
    poll_interrupt();
  });
  auto out = number(forest);
  if (!graph.in) out.missed = a.nnz();
  return out;
}

}  // namespace penstock
