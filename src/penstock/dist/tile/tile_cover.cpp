// How a tile's entries are shared out between the owner of B and that of C. The matching begins with a greedy one, rows with
// few entries first, which leaves little to phases as Hopcroft and Karp's: each looks for augmenting paths by a search in
// levels, and follows as many of them as do not meet. Rows that no alternating path from an unmatched row reaches
// are the rows of the cover, and reached columns are its columns. That is a cover whatever the matching is, and a minimum one
// where the matching is a maximum.
#include "penstock/dist/tile/tile_cover.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

/// Phases of the matching. On lifts of social and web graphs and on R-MAT it took 5 to 14.
constexpr int kMostPhases = 64;

class Matching {
 public:
  explicit Matching(const CsrView<One>& tile)
      : a_(tile),
        row_mate_(static_cast<std::size_t>(tile.rows), kNone),
        col_mate_(static_cast<std::size_t>(tile.cols), kNone),
        level_(row_mate_.size()),
        next_(row_mate_.size()) {
    greedy();
    for (int phase = 0; phase < kMostPhases && find_levels(); ++phase)
      for (std::int64_t r = 0; r < a_.rows; ++r)
        if (row_mate_[at(r)] == kNone && length(r) > 0) augment(r);
    find_levels();
  }

  /// Whether an alternating path from an unmatched row reaches this one.
  bool reached(std::int64_t row) const { return level_[at(row)] >= 0; }

 private:
  static constexpr Index kNone = -1;
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::int64_t length(std::int64_t r) const { return a_.indptr[r + 1] - a_.indptr[r]; }
  const Index* begin(std::int64_t r) const { return a_.indices + (a_.indptr[r] - a_.first_nnz); }

  void greedy() {
    std::vector<Index> order;
    for (std::int64_t r = 0; r < a_.rows; ++r)
      if (length(r) > 0) order.push_back(static_cast<Index>(r));
    std::ranges::stable_sort(order, {}, [&](Index r) { return length(r); });
    for (const auto r : order)
      for (auto e = begin(r); e < begin(r) + length(r); ++e)
        if (col_mate_[at(*e)] == kNone) {
          row_mate_[at(r)] = *e, col_mate_[at(*e)] = r;
          break;
        }
  }

  /// Levels of rows along alternating paths from unmatched ones. False: no path ends in an unmatched column.
  bool find_levels() {
    std::ranges::fill(level_, -1);
    queue_.clear();
    for (std::int64_t r = 0; r < a_.rows; ++r) {
      next_[at(r)] = 0;
      if (row_mate_[at(r)] == kNone && length(r) > 0)
        level_[at(r)] = 0, queue_.push_back(static_cast<Index>(r));
    }
    bool ends = false;
    for (std::size_t q = 0; q < queue_.size(); ++q) {
      const auto r = queue_[q];
      for (auto e = begin(r); e < begin(r) + length(r); ++e) {
        const auto mate = col_mate_[at(*e)];
        if (mate == kNone) ends = true;
        else if (level_[at(mate)] < 0) level_[at(mate)] = level_[at(r)] + 1, queue_.push_back(mate);
      }
    }
    return ends;
  }

  /// Follows a path down the levels from an unmatched row; no row is entered twice in a phase in vain.
  void augment(std::int64_t from) {
    path_.assign(1, static_cast<Index>(from));
    while (!path_.empty()) {
      const auto r = path_.back();
      auto& n = next_[at(r)];
      if (n == length(r)) {
        path_.pop_back();
        if (!path_.empty()) ++next_[at(path_.back())];
        continue;
      }
      const auto mate = col_mate_[at(begin(r)[n])];
      if (mate == kNone) return flip();
      if (level_[at(mate)] == level_[at(r)] + 1) path_.push_back(mate);
      else ++n;
    }
  }

  /// Every row of the path takes the column that it has led to.
  void flip() {
    for (auto r = path_.rbegin(); r != path_.rend(); ++r) {
      const auto column = begin(*r)[next_[at(*r)]++];
      row_mate_[at(*r)] = column, col_mate_[at(column)] = *r;
    }
  }

  const CsrView<One>& a_;
  std::vector<Index> row_mate_, col_mate_, level_;
  std::vector<Offset> next_;  // the entry that a row tries next in this phase
  std::vector<Index> queue_, path_;
};

/// Entries of a tile's rows in the cover, or of the others.
template <class V>
struct Picked {
  std::vector<Offset> ends{0};
  std::vector<Index> indices;
  std::vector<V> values;

  Picked(const CsrView<V>& from, const std::vector<std::uint8_t>& rows, bool in_cover) {
    for (std::int64_t r = 0; r < from.rows; ++r) {
      if ((rows[static_cast<std::size_t>(r)] != 0) == in_cover) {
        indices.insert(indices.end(), from.indices + from.indptr[r], from.indices + from.indptr[r + 1]);
        if constexpr (!is_pattern<V>)
          values.insert(values.end(), from.values + from.indptr[r], from.values + from.indptr[r + 1]);
      }
      ends.push_back(std::ssize(indices));
    }
  }
  CsrView<V> view(std::int64_t cols) const {
    CsrView<V> a{
        .rows = std::ssize(ends) - 1, .cols = cols, .indptr = ends.data(), .indices = indices.data()};
    a.count = std::ssize(indices);
    if constexpr (!is_pattern<V>) a.values = values.data();
    return a;
  }
};

std::vector<GlobalIndex> numbers(std::int64_t first, std::int64_t count) {
  std::vector<GlobalIndex> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

template <class V>
std::shared_ptr<TileSplit> split(TileMatrix& a) {
  const auto& map = a.map();
  auto at_c = map, at_b = map;
  at_b.turned = true;
  for (auto* part : {&at_c, &at_b})
    for (auto& t : part->tiles) t = TileAt{.rows = t.rows, .cols = t.cols};
  std::map<std::int64_t, Picked<V>> stays, leaves;
  std::vector<std::vector<GlobalIndex>> row_ids, col_ids;
  for (std::int64_t i = 0; i < map.down(); ++i)
    for (std::int64_t k = 0; k < map.across(); ++k) {
      const auto& t = map.at(i, k);
      if (!a.mine(i, k) || t.nnz == 0) continue;
      const auto here = a.async_get_on_host(i, k);
      const auto* const blob = here.data();
      const bool one_rank = i % map.grid.rows == k % map.grid.rows;  // has B(k, j) and C(i, j)
      const auto rows = one_rank ? std::vector<std::uint8_t>(static_cast<std::size_t>(t.rows))
                                 : cover_of(csr_of<One>(blob, t));
      const auto n = map.number(i, k);
      const auto tile = csr_of<V>(blob, t);
      at_c.tiles[static_cast<std::size_t>(n)].nnz =
          std::ssize(stays.try_emplace(n, tile, rows, false).first->second.indices);
      if (one_rank) continue;
      leaves.try_emplace(n, tile, rows, true);
      row_ids.push_back(numbers(map.first_row(i), t.rows));
      col_ids.push_back(numbers(map.first_col(k), t.cols));
    }
  const auto fill = [&](std::int64_t i, std::int64_t k, std::byte* blob) {
    if (const auto at = stays.find(map.number(i, k)); at != stays.end())
      write_csr(at->second.view(map.at(i, k).cols), blob);
  };
  std::vector<CsrView<V>> parts;
  for (const auto& [n, picked] : leaves)
    parts.push_back(picked.view(map.tiles[static_cast<std::size_t>(n)].cols));
  TileMatrix here(a.comm(), std::move(at_c), a.make_transport(), fill);
  stays.clear();
  return std::make_shared<TileSplit>(
      TileSplit{std::move(here),
                tiles_of_part<V>(a.comm(), parts, row_ids, col_ids, std::move(at_b), a.make_transport())});
}

void append(MultiplyPlan& to, MultiplyPlan from) {
  std::vector<std::int32_t> turns(static_cast<std::size_t>(to.ranks));
  for (const auto& p : to.products) ++turns[static_cast<std::size_t>(p.owner)];
  const auto before = std::ssize(to.products);
  for (auto& p : from.products) {
    p.turn += turns[static_cast<std::size_t>(p.owner)];
    to.products.push_back(p);
  }
  for (std::size_t g = 1; g < from.groups.size(); ++g) to.groups.push_back(before + from.groups[g]);
}

}  // namespace

std::vector<std::uint8_t> cover_of(const CsrView<One>& tile) {
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(tile.rows));
  const Matching matching(tile);
  for (std::int64_t r = 0; r < tile.rows; ++r)
    rows[static_cast<std::size_t>(r)] = tile.indptr[r] < tile.indptr[r + 1] && !matching.reached(r);
  return rows;
}

std::shared_ptr<TileSplit> split_of(TileMatrix& a) {
  auto& kept = a.split();
  if (!kept) {
    switch (a.map().value) {
      case TileValue::pattern: kept = split<One>(a); break;
      case TileValue::float32: kept = split<float>(a); break;
      default: kept = split<double>(a); break;
    }
  }
  return kept;
}

MultiplyPlan plan_cover(const TileSplit& a, const TileMap& b, const TileMap& c) {
  auto plan = plan_multiply(a.at_b.map(), b, c, Stationary::b);
  plan.kept = Stationary::cover;
  for (auto& p : plan.products) p.at_b = true;
  append(plan, plan_multiply(a.at_c.map(), b, c, Stationary::c));
  plan.skipped = 0;
  for (std::size_t n = 0; n < a.at_c.map().tiles.size(); ++n)
    if (a.at_c.map().tiles[n].nnz + a.at_b.map().tiles[n].nnz == 0) plan.skipped += plan.n;
  return plan;
}

}  // namespace penstock
