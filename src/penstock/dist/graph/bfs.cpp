// Breadth-first search over a graph that is shared out by rows (Buluc, Madduri 2011), changing direction as a whole
// (Beamer, Buluc, Asanovic, Patterson 2013). Top-down, each rank follows the edges out of its part of the frontier
// and tells the owners which of their vertices it has met, each vertex once in a search. Bottom-up, owners tell the ranks
// that hold ghosts which of these are in the frontier, and every vertex that is not yet reached looks for one of them.
// Both directions send a list or a bitmap, to partners only (dist/graph/marks.hpp). A rank that holds parts of other ranks'
// rows is told which of these rows are in the frontier, and tells what it has found for them.
#include "penstock/dist/graph/bfs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bitmap.hpp"
#include "penstock/graph/expand.hpp"

namespace penstock {
namespace {

using graph::Word;

/// Fewer edges than this are followed by one thread, as in the search of one process.
constexpr std::int64_t kAloneEdges = 8 << 10;
constexpr std::int64_t kWordsAtOnce = 128;
// A search goes bottom-up once the frontier has 1 / kDown of the edges that are left, until it has less than 1 / kUp of the
// vertices: the figures of the GAP suite (Beamer, Asanovic, Patterson 2015). They are whole numbers, because ranks on
// different processors must come to the same decision.
constexpr std::int64_t kDown = 15, kUp = 18;

/// Sets the bits of the columns that the edges out of `from` lead to. Those that had none are appended to `fresh`.
void follow(const CsrView<One>& a, std::span<const Index> from, Word* bits, std::vector<Index>& fresh) {
  Offset edges = 0;
  for (const auto u : from) edges += a.indptr[u + 1] - a.indptr[u];
  if (edges < kAloneEdges || num_threads() == 1) {
    for (const auto u : from)
      for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k)
        if (graph::claim_bit<false>(bits, a.indices[k])) fresh.push_back(a.indices[k]);
    return;
  }
  std::vector<std::vector<Index>> lanes(static_cast<std::size_t>(num_threads()));
  graph::expand(graph::Direct{}, a, from, [&](Index, Index v, Offset, std::int64_t lane) {
    if (graph::claim_bit<true>(bits, v)) lanes[static_cast<std::size_t>(lane)].push_back(v);
  });
  for (const auto& lane : lanes) fresh.insert(fresh.end(), lane.begin(), lane.end());
}

bool leads_to(const CsrView<One>& a, std::int64_t row, const Word* bits) {
  for (auto k = a.indptr[row]; k < a.indptr[row + 1]; ++k)
    if (graph::test_bit(bits, a.indices[k])) return true;
  return false;
}

std::vector<Word> no_bits(std::int64_t n) {
  return std::vector<Word>(static_cast<std::size_t>(graph::words_of(n)));
}

class DistSearch {
 public:
  DistSearch(DistGraph& out, DistGraph* in, const DistBfsOptions& options, Array<Index> levels)
      : out_(out),
        in_(in),
        direction_(options.direction),
        levels_(std::move(levels)),
        visited_(no_bits(out.vertices())),
        told_(no_bits(out.ghosts())),
        found_rows_(no_bits(in ? in->foreign() : 0)),
        unexplored_(out.all_edges()) {
    std::fill_n(levels_.data, levels_.size, kUnreached);
  }

  void run(GlobalIndex source, DistBfsResult& result) {
    std::vector<Index> next;
    if (out_.owners().owner(source) == out_.comm().rank())
      if (const auto place = out_.owners().local(source); place >= 0) reach(static_cast<Index>(place), next);
    for (bool up = false; settle(next);) {
      result.depth = depth_++;
      up = goes_up(up);
      unexplored_ -= edges_;
      next.clear();
      if (up && in_) bottom_up(next), ++result.bottom_up;
      else top_down(next), result.missed += up ? edges_ : 0;
    }
    result.reached = std::max<std::int64_t>(reached_, 1);  // a source that nobody lists reaches itself
  }

 private:
  void reach(Index v, std::vector<Index>& next) {
    if (!graph::claim_bit<false>(visited_.data(), v)) return;
    levels_.data[v] = depth_;
    next.push_back(v);
  }

  /// Makes `next` the frontier. False where it is empty on all ranks.
  bool settle(std::vector<Index>& next) {
    std::swap(frontier_, next);
    std::array<std::int64_t, 2> sums{std::ssize(frontier_), 0};
    for (const auto v : frontier_) sums[1] += out_.degree(v);
    out_.comm().all_reduce(std::span<std::int64_t>(sums), Reduce::sum);
    size_ = sums[0], edges_ = sums[1];
    reached_ += size_;
    poll_interrupt();
    return size_ > 0;
  }

  bool goes_up(bool up) const {
    if (direction_ != DistBfsDirection::automatic) return direction_ == DistBfsDirection::bottom_up;
    if (up) return size_ > out_.owners().present() / kUp;
    return edges_ > kAloneEdges && edges_ > unexplored_ / kDown;
  }

  std::vector<Word> frontier_bits() const {
    auto bits = no_bits(out_.vertices());
    for (const auto v : frontier_) graph::claim_bit<false>(bits.data(), v);
    return bits;
  }

  void top_down(std::vector<Index>& next) {
    auto from = frontier_;
    if (out_.any_foreign()) {
      const auto bits = frontier_bits();
      out_.rows().tell_ghosts(out_.comm(), bits.data(), [&](Index foreign) {
        from.push_back(static_cast<Index>(out_.vertices()) + foreign);
      });
    }
    std::vector<Index> ghosts;
    follow(out_.edges().halo.view(), from, told_.data(), ghosts);
    follow(out_.edges().local.view(), from, visited_.data(), next);
    for (const auto v : next) levels_.data[v] = depth_;
    out_.columns().tell_owners(out_.comm(), ghosts, [&](Index v) { reach(v, next); });
  }

  void bottom_up(std::vector<Index>& next) {
    const auto front = frontier_bits();
    auto front_ghosts = no_bits(in_->ghosts());
    const bool same = in_ == &out_;
    in_->columns().tell_ghosts(in_->comm(), front.data(), [&](Index ghost) {
      graph::claim_bit<false>(front_ghosts.data(), ghost);
      if (same) graph::claim_bit<false>(told_.data(), ghost);  // its owner has been told
    });
    const auto local = in_->edges().local.view(), halo = in_->edges().halo.view();
    const auto finds = [&](std::int64_t row) {
      return leads_to(local, row, front.data()) || leads_to(halo, row, front_ghosts.data());
    };
    const auto n = in_->vertices();
    auto found = no_bits(n);
    parallel_ranges(std::ssize(found), kWordsAtOnce, [&](std::int64_t first, std::int64_t last) {
      for (auto w = first; w < last; ++w) {
        Word some = 0;
        const auto at = static_cast<std::size_t>(w);
        for (Word todo = in_->has_edges()[at] & ~visited_[at]; todo; todo &= todo - 1)
          if (finds(w * 64 + std::countr_zero(todo))) some |= todo & -todo;
        found[at] = some;
      }
      poll_interrupt();
    });
    for (std::size_t w = 0; w < found.size(); ++w)
      for (auto bits = found[w]; bits; bits &= bits - 1)
        reach(static_cast<Index>(static_cast<int>(w) * 64 + std::countr_zero(bits)), next);
    if (!in_->any_foreign()) return;
    std::vector<Index> rows;
    for (Index f = 0; f < in_->foreign(); ++f)
      if (!graph::test_bit(found_rows_.data(), f) && finds(n + f)) {
        graph::claim_bit<false>(found_rows_.data(), f);
        rows.push_back(f);
      }
    in_->rows().tell_owners(in_->comm(), rows, [&](Index v) { reach(v, next); });
  }

  DistGraph& out_;
  DistGraph* in_;
  DistBfsDirection direction_;
  Array<Index> levels_;
  std::vector<Word> visited_, told_;  // owned vertices; ghosts whose owners know that they are reached
  std::vector<Word> found_rows_;      // foreign rows of `in` that have already found a neighbour
  std::vector<Index> frontier_;
  std::int64_t unexplored_, size_ = 0, edges_ = 0, reached_ = 0;  // of all ranks
  Index depth_ = 0;
};

/// Every reached vertex offers itself as predecessor along its edges to vertices one level down; the smallest offer is kept.
Array<GlobalIndex> find_predecessors(DistGraph& g, const Array<Index>& levels) {
  constexpr auto kNone = std::numeric_limits<GlobalIndex>::max();
  const auto& a = g.edges();
  auto& comm = g.comm();
  const auto n = g.vertices();
  std::vector<Index> row_levels(levels.data, levels.data + n),
      ghost_levels(static_cast<std::size_t>(g.ghosts()));
  std::vector<GlobalIndex> foreign;
  row_levels.resize(static_cast<std::size_t>(n + g.foreign()));
  values_to_ghosts(comm, *a.plan, levels.data, ghost_levels.data());
  if (g.any_foreign()) {
    values_to_ghosts(comm, *a.sums, levels.data, row_levels.data() + n);
    const auto numbers = ghost_numbers(comm, g.owners(), *a.sums);
    foreign.assign(numbers.data, numbers.data + numbers.size);
  }
  const auto out = allocate<GlobalIndex>(n);
  std::fill_n(out.data, n, kNone);
  std::vector<GlobalIndex> offers(static_cast<std::size_t>(g.ghosts()), kNone);
  for (std::int64_t r = 0; r < a.local.rows; ++r) {
    const auto level = row_levels[static_cast<std::size_t>(r)];
    if (level < 0) continue;
    const auto u = r < n ? g.column(r) : foreign[static_cast<std::size_t>(r - n)];
    for (auto k = a.local.indptr.data[r]; k < a.local.indptr.data[r + 1]; ++k)
      if (const auto v = a.local.indices.data[k]; levels.data[v] == level + 1)
        out.data[v] = std::min(out.data[v], u);
    for (auto k = a.halo.indptr.data[r]; k < a.halo.indptr.data[r + 1]; ++k)
      if (const auto v = static_cast<std::size_t>(a.halo.indices.data[k]); ghost_levels[v] == level + 1)
        offers[v] = std::min(offers[v], u);
    if (r % kAloneEdges == 0) poll_interrupt();
  }
  values_to_owners(comm, *a.plan, offers.data(),
                   [&](Index v, GlobalIndex u) { out.data[v] = std::min(out.data[v], u); });
  std::replace(out.data, out.data + n, kNone, GlobalIndex(kNoPredecessor));
  return out;
}

}  // namespace

DistBfsResult bfs(DistGraph& out, DistGraph* in, GlobalIndex source, const DistBfsOptions& options) {
  require(0 <= source && source < out.owners().size(), "bfs: source " + std::to_string(source) +
                                                           " is outside a graph of " +
                                                           std::to_string(out.owners().size()) + " vertices");
  DistBfsResult result;
  result.levels = allocate<Index>(out.vertices());
  DistSearch(out, in, options, result.levels).run(source, result);
  if (options.predecessors) result.predecessors = find_predecessors(out, result.levels);
  return result;
}

}  // namespace penstock
