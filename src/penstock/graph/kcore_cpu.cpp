// Core numbers by peeling (Batagelj, Zaversnik 2003): for k = 0, 1, ..., vertices with at most k neighbours left are removed,
// and get core number k; this may leave other vertices with k neighbours. The vertices of one step are a frontier, so that
// threads share large ones (Kabir, Madduri 2017). Vertices are not sorted by degree. Instead, all vertices with fewer
// neighbours left than a limit, which is a power of two, are on a list, and for each k below the limit this list is looked
// through.
#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/expand.hpp"
#include "penstock/graph/kcore.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kCoreRowsOfATask = 16 << 10;
constexpr std::int64_t kAloneEdges = 32 << 10;  // a frontier with fewer stays on one thread
constexpr Index kWidest = 64;                   // at most so many values of k share a list

class Peeling {
 public:
  Peeling(const CsrView<One>& a, Array<Index> left)
      : a_(a), left_(left.data), list_(allocate<Index>(a.rows)), current_(a.rows), next_(a.rows) {
    parallel_ranges(a.rows, kCoreRowsOfATask, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) left_[v] = static_cast<Index>(a.indptr[v + 1] - a.indptr[v]);
    });
  }

  void run() {
    Index limit = 1;  // list_ holds the vertices with k <= left < limit
    for (Index k = 0; done_ < a_.rows;) {
      fill_list(k, limit);
      for (; k < limit && done_ < a_.rows; ++k) peel(k, limit);
      // If the list is empty, k becomes that of the next vertex.
      if (done_ < a_.rows && listed_ == 0) k = std::max(k, least_left(k));
      limit = k + std::min<Index>(std::max<Index>(k, 1), kWidest);
    }
  }

 private:
  // left_ of a removed vertex is its core number, which is below k. So a vertex with left >= k is still there.
  void fill_list(Index k, Index limit) {
    listed_ = 0;
    for (std::int64_t v = 0; v < a_.rows; ++v)
      if (left_[v] >= k && left_[v] < limit) list_.data[listed_++] = static_cast<Index>(v);
  }
  Index least_left(Index k) const {
    Index least = std::numeric_limits<Index>::max();
    for (std::int64_t v = 0; v < a_.rows; ++v)
      if (left_[v] >= k) least = std::min(least, left_[v]);
    return least;
  }

  void peel(Index k, Index limit) {
    auto *now = &current_, *later = &next_;
    now->clear();
    std::int64_t kept = 0, edges = 0;
    Index* const out = now->end();
    std::int64_t found = 0;
    for (std::int64_t i = 0, count = listed_; i < count; ++i) {
      const auto v = list_.data[i];
      if (left_[v] == k) {
        out[found++] = v;
        edges += a_.indptr[v + 1] - a_.indptr[v];
      } else if (left_[v] > k) {
        list_.data[kept++] = v;
      }
    }
    now->append(found, edges);
    listed_ = kept;
    for (; now->size() > 0; std::swap(now, later)) {
      done_ += now->size();
      later->clear();
      const auto arrive = [](Index) {};
      if (now->edges() < kAloneEdges || num_threads() == 1)
        graph::advance_alone(
            graph::Direct{}, a_, now->vertices(), *later,
            [&, k, limit](Index v) { return take_one<false>(v, k, limit); }, arrive);
      else
        graph::advance(
            graph::Direct{}, a_, now->vertices(), *later,
            [&, k, limit](Index, Index v, Offset) { return take_one<true>(v, k, limit); }, arrive);
    }
  }

  /// Takes a neighbour from v, and returns whether v has k left now. A vertex with k or fewer is being removed, and keeps its
  /// number.
  template <bool Shared>
  bool take_one(Index v, Index k, Index limit) {
    Index before;
    if constexpr (Shared) {
      const std::atomic_ref<Index> cell(left_[v]);
      before = cell.load(std::memory_order_relaxed);
      do {
        if (before <= k) return false;
      } while (!cell.compare_exchange_weak(before, before - 1, std::memory_order_relaxed));
      if (before == limit && before - 1 > k)
        list_.data[std::atomic_ref<std::int64_t>(listed_).fetch_add(1, std::memory_order_relaxed)] = v;
    } else {
      before = left_[v];
      if (before <= k) return false;
      left_[v] = before - 1;
      if (before == limit && before - 1 > k) list_.data[listed_++] = v;
    }
    return before - 1 == k;
  }

  const CsrView<One>& a_;
  Index* left_;  // for each vertex its neighbours that are still there; for a removed vertex its core number
  Array<Index> list_;
  std::int64_t listed_ = 0, done_ = 0;
  graph::Frontier current_, next_;
};

}  // namespace

bool is_simple(const CsrView<One>& a) {
  std::atomic<bool> simple = true;
  parallel_ranges(a.rows, kCoreRowsOfATask / 4, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last && simple.load(std::memory_order_relaxed); ++v) {
      const Index* row = a.indices + (a.indptr[v] - a.first_nnz);
      const auto length = a.indptr[v + 1] - a.indptr[v];
      bool fine = true;
      for (Offset k = 0; k < length; ++k) fine &= row[k] != v && (k == 0 || row[k - 1] < row[k]);
      if (!fine) simple = false;
    }
  });
  return simple;
}

Array<Index> core_number(const CsrView<One>& a) {
  require(a.rows == a.cols, "core_number needs a square adjacency matrix, this one is " +
                                std::to_string(a.rows) + " x " + std::to_string(a.cols));
  const auto cores = allocate<Index>(a.rows);
  Peeling(a, cores).run();
  return cores;
}

}  // namespace penstock
