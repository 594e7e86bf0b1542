#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "penstock/dist/tile/plan_multiply.hpp"
#include "penstock/dist/tile/tile_sum.hpp"

// C = A B on tiles, where each rank fetches what it needs at its own pace: Brock, Buluc and Yelick, "RDMA-based algorithms
// for sparse matrix multiplication on GPUs", ICS 2024. One executor carries out every plan; SUMMA (dist/tile/summa.cpp) is the
// rival in lockstep.
namespace penstock {

/// Which ranks work on products that their owners have not begun. random: a counter for each stationary tile (the paper's 2-D grid), tiles in
/// random order. locality: a counter for each product (the 3-D grid), only products one of whose three tiles is here.
enum class Steal { none, random, locality };
Steal steal(std::string_view name);  // throws Error{invalid_argument} listing the names

struct TileMultiplyOptions {
  std::string semiring = "plus_times";
  Stationary kept = Stationary::c;
  Steal steal = Steal::none;
  int prefetch = 1;          // products whose tiles are under way while one is computed
  std::int64_t memory = -1;  // bytes that a rank may use for C; below 0, what is available
  std::uint64_t seed = 0;    // of the order in which tiles are robbed
  /// Operations of a part of a product that can be taken by itself (dist/tile/tile_parts.hpp); 0: chosen.
  double part_flops = 0;
  /// What others add to C travels in pieces of at most so many bytes (0: 4 MB, or 32 MB of a device's tiles), so many of a
  /// rank's at once.
  std::int64_t piece_bytes = 0;
  int pieces = 4;
  int replicas = 1;  // copies of stationary C: GridLayers
  std::vector<int> nodes =
      {};  // of each rank: what the ranks of a node share crosses to it once; empty: nothing is shared
  /// Operations that a rank does in the time of a byte on the network: what uneven work is dealt by (deal_products.hpp). Below 0:
  /// everything is done by the owner of the stationary tile.
  double flops_per_byte = -1;
  TileMatrix* mask = nullptr;  // C only where it has entries, whatever their values; its tiles are C's
};

/// The times and counts of this rank's part of a product. The seconds add up to `seconds`, apart from bookkeeping.
struct TileTimes {
  double seconds = 0;
  double prepare = 0;  // plan, counts, arenas
  double compute = 0;  // products of tiles, with the sums that they go to
  /// Claims, gets started and waited for. In SUMMA the broadcasts, which include waiting for other ranks.
  double communication = 0;
  double accumulation = 0;                           // results sent to their owners, taken in, put in place
  double imbalance = 0;                              // waiting for others at the end
  std::int64_t own = 0, stolen = 0;                  // products, or parts of them where some can be stolen
  std::int64_t fetched = 0, sent = 0, received = 0;  // bytes
  std::int64_t far_fetched = 0, far_sent = 0;        // of these, bytes that crossed between nodes
  std::int64_t counted = 0;  // bytes of row offsets that were fetched to count products
  double flops = 0;          // that this rank did, by the plan
  std::string broadcasts;    // SUMMA: what carries them (tile_broadcast.hpp)
};

struct TileResult {
  TileMatrix c;
  MultiplyPlan plan;
  TileTimes times;
};

/// Collective. A sum that several ranks contribute to is taken in the order in which its parts come: with stationary C and
/// nothing stolen the same bits each time. Throws Error{invalid_argument} where the tiles do not fit, Error{out_of_memory}
/// on all ranks before anything is computed where C will not, Error{comm} where a rank fails or does not come.
TileResult multiply_one_sided(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options);
/// The product in lockstep: for each k, A(:, k) is broadcast along the rows of the grid, B(k, :) along its columns. A, B and C are on
/// one grid. `kept`, `steal`, `prefetch` and the pieces are not looked at. Collective.
TileResult multiply_summa(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options);

struct NodeCopies;

/// What a product begins with; prepare() is collective.
struct TilePlan {
  std::unique_ptr<LocalProduct> local;
  TileMap c;
  MultiplyPlan plan;
  std::shared_ptr<TileSplit> split;  // of A, where the plan is a cover's
  const TileMap* mask = nullptr;
  std::shared_ptr<NodeCopies> copies;  // of other nodes' tiles, where there are some
  std::int64_t counted = 0;            // bytes that this rank has fetched to count products
};
/// The tiles of A that a product of the plan multiplies.
TileMatrix& left_of(const TilePlan& plan, TileMatrix& a, const TileProduct& product);
/// The tiles of B; only with copies, they and those of A may be elsewhere than their owners are.
TileMatrix& right_of(const TilePlan& plan, TileMatrix& b, const TileProduct& product);
TilePlan prepare(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options);

/// What a product needs that is computed some rows of tiles at a time.
class RowNeeds {
 public:
  RowNeeds(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options);  // collective
  /// Bytes that this rank needs for C, for each grid.rows rows of tiles.
  const std::vector<double>& rows() const { return rows_; }
  /// Bytes of each rank that the product of tile rows [first, last) needs for what nodes share, at most; `first` is a multiple
  /// of grid.rows. Alike on all ranks.
  std::vector<double> shared(std::int64_t first, std::int64_t last) const;
  double landings() const { return landings_; }  // bytes of this rank's tiles on their way

 private:
  TileMap a_, b_, c_;
  TileMultiplyOptions options_;
  std::vector<ProductCount> counts_;
  std::vector<double> rows_;
  double landings_ = 0;
};

/// C's tiles on this rank while they are added up.
class TileSums {
 public:
  TileSums(const TilePlan& plan, const TileMatrix& a);
  /// The sum of an own tile.
  TileSum& sum(std::int64_t i, std::int64_t j);
  void settle();  // settles the sums of all tiles
  /// Collective: all tiles in place, seen by all. Adds the seconds of work and those of waiting for other ranks.
  TileMatrix finish(double& accumulation, double& waiting);

 private:
  const TilePlan* plan_;
  std::shared_ptr<Comm> comm_;
  MakeTransport make_;
  std::unique_ptr<TileMatrix> dense_;
  std::map<std::int64_t, std::unique_ptr<TileSum>> sums_;
};

/// Seconds since the last call.
class LapClock {
 public:
  LapClock();
  double lap();

 private:
  double last_;
};

}  // namespace penstock
