#pragma once
#include <vector>

#include "penstock/dist/tile/one_sided.hpp"
#include "penstock/dist/tile/tile_mail.hpp"

namespace penstock {

/// What a rank works on: its own products in the plan's order, except that it begins with one that it need not wait for; then
/// parts of products (tile_parts.hpp) that are worth taking from other ranks.
///
/// Each rank has a word that says how many parts of its products have been taken, one with the number of ranks that look for work
/// here, and a counter for each of its products.
/// Whoever takes parts, claims them when the tiles are there: so a slow thief holds up nothing but the parts that it works
/// on. Owners claim by counters in their own memory. A thief looks at products from the end of the list of who has most left,
/// which its owner reaches last and which follow one another in a tile of C, and opens only those of which it will have moved
/// tiles and a result before their owner has done what is left. `random`: the products of any stationary tile, in random
/// order. Where more ranks are threads than there are CPUs, one that is done leaves its CPU to others: it robs only once fewer
/// are at work than there are CPUs. Where products know of nodes, what is robbed stays within a node.
class TileWork {
 public:
  static constexpr std::int64_t kNone = -1;
  TileWork(const TilePlan& plan, TileMatrix& a, TileMatrix& b, TileMail& mail, Steal steal,
           std::uint64_t seed);
  /// Words of the arena that claims need.
  static std::int64_t counters(const MultiplyPlan& plan) { return plan.turns() + 2; }

  /// The number of a product whose tiles this rank should have, or kNone; each comes once. `so_far`: what this rank has measured.
  std::int64_t open(const TileTimes& so_far);
  /// Parts of an opened product that nobody else does; none where all are taken.
  Span take(std::int64_t n, const TileTimes& so_far);

 private:
  struct Victim {
    int rank = 0;
    std::vector<std::int64_t> near;  // products; the next to be tried is at the back
  };
  const TileProduct& product(std::int64_t n) const { return plan_.products[static_cast<std::size_t>(n)]; }
  std::int64_t group(std::int64_t g) const { return plan_.groups[static_cast<std::size_t>(g)]; }
  static std::int64_t counter(const TileProduct& p) { return 2 + p.turn; }
  /// Parts of a product that nobody has taken, and of all products of a rank.
  std::int64_t rest(const TileProduct& p) { return p.parts - mail_.read(p.owner, counter(p)); }
  std::int64_t left(int rank) { return loads_[static_cast<std::size_t>(rank)] - mail_.read(rank, 0); }
  std::int64_t soonest(std::int64_t g) const;
  std::int64_t in_turn(std::int64_t g, std::int64_t first, std::int64_t turn) const;
  bool cpus_are_busy();
  void say_idle();
  bool worth(const TileProduct& p, std::int64_t left, const TileTimes& so_far) const;
  double seconds_left(const TileProduct& p, std::int64_t left, double each, const TileTimes& so_far) const;
  std::int64_t open_own();
  std::int64_t rob_near(const TileTimes& so_far);
  std::int64_t rob_any(const TileTimes& so_far);

  const TileMatrix& left_of(const TileProduct& p) const { return penstock::left_of(prepared_, a_, p); }
  const TileMatrix& right_of(const TileProduct& p) const { return penstock::right_of(prepared_, b_, p); }
  bool within_node(const TileProduct& p) const;

  const TilePlan& prepared_;
  const MultiplyPlan& plan_;
  TileMatrix &a_, &b_;
  const TileMap& c_;
  TileMail& mail_;
  Steal steal_;
  int me_;
  std::vector<std::int64_t> own_;    // products
  std::vector<std::int64_t> any_;    // products of others (random), the next at the back
  std::vector<Victim> victims_;      // (locality)
  std::vector<std::int64_t> loads_;  // parts of the products of each rank
  std::vector<std::int64_t> begin_;  // the first stationary tile of each rank; -1: it has none
  std::size_t at_ = 0;
  bool idle_ = false;           // it has told the others that it has no products of its own left
  std::int64_t whole_ = kNone;  // the product that was taken last, where nobody steals
};

}  // namespace penstock
