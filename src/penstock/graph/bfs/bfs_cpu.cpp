// Breadth-first search from one vertex on the CPU: Search (search.hpp) finds the levels. The predecessors follow from the
// levels alone, so they do not depend on which thread was first.
#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/locks.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/bfs/search.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {

/// Memory of results that nobody uses any more. It is freed with the plan.
struct BfsPlan::Dropped {
  std::mutex lock;
  std::vector<Array<Index>> blocks;
};

BfsPlan::BfsPlan() : dropped_(std::make_shared<Dropped>()) { dropped_->blocks.reserve(2); }
BfsPlan::~BfsPlan() = default;

Array<Index> BfsPlan::result(std::int64_t vertices) {
  Array<Index> block;
  {
    const auto guard = lock_soon(dropped_->lock);
    if (guard && !dropped_->blocks.empty()) {
      block = std::move(dropped_->blocks.back());
      dropped_->blocks.pop_back();
    }
  }
  if (block.size != vertices) block = allocate<Index>(vertices);
  const std::weak_ptr pool = dropped_;
  return {block.data, vertices, block.place, std::shared_ptr<void>(block.data, [pool, block](void*) noexcept {
            const auto alive = pool.lock();
            if (!alive) return;
            const auto guard = lock_soon(alive->lock);
            if (guard && alive->blocks.size() < alive->blocks.capacity()) alive->blocks.push_back(block);
          })};
}

std::unique_ptr<BfsPlan::Scratch> BfsPlan::borrow(std::int64_t vertices) {
  {
    const auto guard = lock_soon(lock_);
    if (guard && !idle_.empty()) {
      auto scratch = std::move(idle_.back());
      idle_.pop_back();
      if (scratch->vertices == vertices) return scratch;
    }
  }
  return std::make_unique<Scratch>(vertices);
}

void BfsPlan::give_back(std::unique_ptr<Scratch> scratch) {
  const auto guard = lock_soon(lock_);
  if (guard && idle_.size() < 4) idle_.push_back(std::move(scratch));
}

namespace {

using graph::any_end;
using graph::degree_of;

constexpr std::int64_t kGrain = 64 << 10;  // entries of a fill that one thread takes at once
constexpr std::int64_t kRowsAtOnce = 4 << 10;
constexpr Index kNone = std::numeric_limits<Index>::max();

void fill(Array<Index> a, Index value) {
  parallel_ranges(a.size, kGrain, [&](std::int64_t first, std::int64_t last) {
    std::fill(a.data + first, a.data + last, value);
  });
}

/// If the edges into each vertex are known: takes the first neighbour one level up, which is the smallest one if rows ascend.
template <class Rows>
void find_predecessors(const Rows& in, bool ascending, const Index* levels, Array<Index> out) {
  parallel_ranges(in.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) {
      Index best = kNone;
      if (levels[v] > 0)
        any_end(in, v, [&](Index u) {
          if (u >= best || levels[u] != levels[v] - 1) return false;
          best = u;
          return ascending;
        });
      out.data[v] = best == kNone ? kNoPredecessor : best;
    }
    poll_interrupt();
  });
}

/// If they are not: every reached vertex offers itself along its edges, and the smallest offer stays.
template <class Rows>
void offer_predecessors(const Rows& a, const Index* levels, Array<Index> out) {
  fill(out, kNone);
  parallel_ranges(a.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      if (levels[u] < 0) continue;
      any_end(a, u, [&](Index v) {
        if (levels[v] != levels[u] + 1) return false;
        const std::atomic_ref<Index> cell(out.data[v]);
        auto held = cell.load(std::memory_order_relaxed);
        while (u < held &&
               !cell.compare_exchange_weak(held, static_cast<Index>(u), std::memory_order_relaxed)) {}
        return false;
      });
    }
    poll_interrupt();
  });
  parallel_ranges(out.size, kGrain, [&](std::int64_t first, std::int64_t last) {
    std::replace(out.data + first, out.data + last, kNone, kNoPredecessor);
  });
}

template <class Rows>
BfsPlan::Targets targets_of(const GraphOf<Rows>& g) {
  BfsPlan::Targets made;
  made.count = g.out.rows;
  if (!g.in) return made;
  made.none.resize(static_cast<std::size_t>(graph::words_of(g.out.rows)));
  std::atomic<std::int64_t> none = 0;
  parallel_ranges(std::ssize(made.none), kGrain / 64, [&](std::int64_t first, std::int64_t last) {
    std::int64_t count = 0;
    for (auto v = first * 64; v < std::min(last * 64, g.in->rows); ++v)
      if (degree_of(*g.in, v) == 0) count += graph::claim_bit<false>(made.none.data(), static_cast<Index>(v));
    none.fetch_add(count, std::memory_order_relaxed);
  });
  made.count -= none;
  return made;
}

template <class Rows>
BfsResult search(const GraphOf<Rows>& g, Index source, BfsPlan& plan, BfsOptions options) {
  const auto n = g.out.rows;
  require(g.out.cols == n && (!g.in || (g.in->rows == n && g.in->cols == n)),
          "bfs needs a square adjacency matrix, this one is " + std::to_string(n) + " x " +
              std::to_string(g.out.cols));
  require(0 <= source && source < n, "bfs: source " + std::to_string(source) + " is outside a graph of " +
                                         std::to_string(n) + " vertices");
  BfsResult result{plan.result(n), {}};
  fill(result.levels, kUnreached);
  auto scratch = plan.borrow(n);
  graph::Search<true, Rows> search(g, plan.targets(g), *scratch, result.levels.data);
  search.clear();
  search.run(source);
  result.reached = search.reached(), result.missed = search.missed();
  plan.give_back(std::move(scratch));
  if (!options.predecessors) return result;
  result.predecessors = plan.result(n);
  if (g.in) find_predecessors(*g.in, plan.ascending(*g.in), result.levels.data, result.predecessors);
  else offer_predecessors(g.out, result.levels.data, result.predecessors);
  return result;
}

}  // namespace

BfsPlan::Targets BfsPlan::find_targets(const BfsGraph& g) { return targets_of(g); }
BfsPlan::Targets BfsPlan::find_targets(const PackedGraph& g) { return targets_of(g); }
BfsPlan::Targets BfsPlan::find_targets(const PatchedGraph& g) { return targets_of(g); }
BfsPlan::Targets BfsPlan::find_targets(const PatchedPackedGraph& g) { return targets_of(g); }

const BfsPlan::Targets& BfsPlan::targets(const BfsGraph& g) {
  const std::size_t which = g.in ? 1 : 0;
  std::call_once(made_[which], [&] { targets_[which] = find_targets(g); });
  return targets_[which];
}
const BfsPlan::Targets& BfsPlan::targets(const PackedGraph& g) {
  const std::size_t which = g.in ? 1 : 0;
  std::call_once(made_[which], [&] { targets_[which] = find_targets(g); });
  return targets_[which];
}
const BfsPlan::Targets& BfsPlan::targets(const PatchedGraph& g) {
  const std::size_t which = g.in ? 1 : 0;
  std::call_once(made_[which], [&] { targets_[which] = find_targets(g); });
  return targets_[which];
}
const BfsPlan::Targets& BfsPlan::targets(const PatchedPackedGraph& g) {
  const std::size_t which = g.in ? 1 : 0;
  std::call_once(made_[which], [&] { targets_[which] = find_targets(g); });
  return targets_[which];
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

BfsResult bfs(const BfsGraph& g, Index source, BfsPlan& plan, BfsOptions options) {
  return search(g, source, plan, options);
}
BfsResult bfs(const PackedGraph& g, Index source, BfsPlan& plan, BfsOptions options) {
  return search(g, source, plan, options);
}
BfsResult bfs(const PatchedGraph& g, Index source, BfsPlan& plan, BfsOptions options) {
  return search(g, source, plan, options);
}
BfsResult bfs(const PatchedPackedGraph& g, Index source, BfsPlan& plan, BfsOptions options) {
  return search(g, source, plan, options);
}

}  // namespace penstock
