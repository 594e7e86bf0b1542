// SUMMA (van de Geijn and Watts 1997), the rival in lockstep: at stage k the ranks that own A(:, k) broadcast it along the
// rows of the grid and those that own B(k, :) along its columns; then each rank multiplies what it has got into its own tiles
// of C, which never travel.
#include <algorithm>
#include <array>
#include <set>

#include "penstock/core/reuse.hpp"
#include "penstock/dist/tile/one_sided.hpp"
#include "penstock/dist/tile/tile_broadcast.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kAligned = 256;  // where tiles begin in the memory of a stage
std::int64_t padded(std::int64_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

/// The tiles of A in this rank's row of the grid, or of B in its column, at one stage after the other.
class Stages {
 public:
  /// A's rows of tiles, or with `down` B's columns of tiles: first, first + step, ... `ranks` is the number of ranks that
  /// share them.
  Stages(TileMatrix& from, bool down, int first, int step, int ranks)
      : from_(from), down_(down), ranks_(ranks) {
    const auto end = down ? from.map().across() : from.map().down();
    for (std::int64_t n = first; n < end; n += step) lines_.push_back(n);
    views_.resize(lines_.size());
    const auto stages = down ? from.map().down() : from.map().across();
    for (std::int64_t k = 0; k < stages; ++k) {
      std::int64_t bytes = 0;
      for (const auto n : lines_) {
        const auto [i, j] = at(n, k);
        if (!from.mine(i, j) && from.map().at(i, j).nnz > 0) bytes += padded(from.map().bytes(i, j));
      }
      most_ = std::max(most_, bytes);
    }
    place_ = device_place(from.transport()->where());
  }

  /// The tiles of stage k: own ones where they are, others where they will be after the broadcast.
  std::span<const BroadcastTile> next(std::int64_t k, std::int64_t& fetched) {
    tiles_.clear();
    std::fill(views_.begin(), views_.end(), TileView{});
    // Sums that have put off products still read the memory of an earlier stage: then this one takes other memory.
    if (most_ > 0 && memory_.use_count() != 1) memory_ = reuse_bytes(most_, place_);
    auto* place = static_cast<std::byte*>(memory_.get());
    for (std::size_t s = 0; s < lines_.size(); ++s) {
      const auto [i, j] = at(lines_[s], k);
      const auto& tile = from_.map().at(i, j);
      if (tile.nnz == 0) continue;
      const auto bytes = from_.map().bytes(i, j);
      BroadcastTile sent{.bytes = bytes, .root = static_cast<int>(k % ranks_)};
      if (from_.mine(i, j)) {
        sent.data = from_.own_tile(i, j);
      } else {
        sent.data = place;
        place += padded(bytes);
        fetched += bytes;
      }
      const bool own = from_.mine(i, j);
      views_[s] = {sent.data, tile, own ? std::shared_ptr<const void>(from_.transport()) : memory_};
      tiles_.push_back(sent);
    }
    return tiles_;
  }

  const std::vector<std::int64_t>& lines() const { return lines_; }
  const TileView& view(std::size_t s) const { return views_[s]; }

 private:
  std::pair<std::int64_t, std::int64_t> at(std::int64_t line, std::int64_t k) const {
    return down_ ? std::pair(k, line) : std::pair(line, k);
  }

  TileMatrix& from_;
  bool down_;
  int ranks_;
  std::vector<std::int64_t> lines_;  // rows of A's tiles, columns of B's
  std::vector<TileView> views_;      // of a tile without entries: no data
  std::vector<BroadcastTile> tiles_;
  std::int64_t most_ = 0;  // bytes of a stage's tiles that are other ranks', at most
  Place place_;
  std::shared_ptr<void> memory_;  // for a stage's tiles that are other ranks'
};

}  // namespace

TileResult multiply_summa(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options) {
  LapClock clock, whole;
  TileTimes times;
  require(options.replicas == 1, "SUMMA has no copies of C: replicas=1");
  auto stationary_c = options;
  stationary_c.kept = Stationary::c;
  auto plan = prepare(a, b, stationary_c);
  const auto &am = a.map(), &bm = b.map();
  require(am.grid == bm.grid && am.grid == plan.c.grid, "SUMMA needs A, B and C on one grid of ranks");
  const auto grid = am.grid;
  const auto comm = a.comm();
  const int row = comm->rank() / grid.cols, col = comm->rank() % grid.cols;
  TileBroadcasts broadcasts(comm, comm->split(row, col), comm->split(col, row), a.transport()->where());
  times.broadcasts = broadcasts.by();
  Stages as(a, false, row, grid.rows, grid.cols), bs(b, true, col, grid.cols, grid.rows);
  times.counted = plan.counted;
  TileSums sums(plan, a);
  std::set<std::array<std::int64_t, 3>> mine;  // products that the plan has not left out
  for (const auto& p : plan.plan.products)
    if (p.owner == comm->rank()) mine.insert({p.i, p.k, p.j}), times.flops += p.flops;
  times.prepare = clock.lap();

  for (std::int64_t k = 0; k < am.across(); ++k) {
    const auto along_row = as.next(k, times.fetched), along_col = bs.next(k, times.fetched);
    broadcasts.run(along_row, along_col);
    times.communication += clock.lap();
    for (std::size_t s = 0; s < as.lines().size(); ++s)
      for (std::size_t t = 0; t < bs.lines().size(); ++t) {
        const auto i = as.lines()[s], j = bs.lines()[t];
        if (!mine.contains({i, k, j})) continue;
        if (options.mask) {
          const auto mask = options.mask->async_get_tile(i, j);  // own
          sums.sum(i, j).multiply_add_on({mask.data(), mask.tile()}, as.view(s), bs.view(t));
        } else {
          sums.sum(i, j).multiply_add(as.view(s), bs.view(t));
        }
        ++times.own;
      }
    times.compute += clock.lap();
  }
  sums.settle();
  times.compute += clock.lap();
  auto c = sums.finish(times.accumulation, times.imbalance);
  times.seconds = whole.lap();
  return {std::move(c), std::move(plan.plan), times};
}

}  // namespace penstock
