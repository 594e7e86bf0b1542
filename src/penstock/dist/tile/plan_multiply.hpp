#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/dist/tile/tiles.hpp"

// Who multiplies which tiles, in which order: plain data, the same on all ranks, made and tested without any. The
// algorithms of Brock et al. (ICS 2024, section 3.2) differ in nothing else.
namespace penstock {

/// The matrix whose tiles stay where they are: what is multiplied with a tile is its owner's work. cover: B stays for some
/// entries of A, C for the others, so that the fewest rows travel (tile_cover.hpp).
enum class Stationary { a, b, c, cover };
Stationary stationary(
    std::string_view name);  // "a", "b", "c", "cover"; throws Error{invalid_argument} listing them
std::string_view name(Stationary which);

/// C(i, j) += A(i, k) B(k, j).
struct TileProduct {
  std::int32_t i = 0, k = 0, j = 0;
  std::int32_t owner = 0;
  std::int32_t turn = 0;   // its place among its owner's products
  bool at_b = false;       // of the part of A that goes to B (cover)
  std::int32_t parts = 1;  // ranges of rows of A(i, k) that are claimed one by one (tile_parts.hpp), or dealt
  std::int32_t first_part = 0, end_part = -1;  // of these, the ones that this is; -1: all from the first on
  std::int64_t fetched = 0;  // bytes that it needs of A(i, k) and B(k, j) where they are not the owner's
  std::int64_t of_b = 0;     // bytes that it needs of B(k, j), wherever that is
  /// Bytes of the result where C(i, j) is not the owner's; sparse: expected; of a copy of a dense tile (replicas): at most.
  std::int64_t sent = 0;
  std::int64_t far_fetched = 0, far_sent = 0;  // of these bytes, those that cross between nodes
  double flops = 0;                            // multiplications and additions; SpGEMM: expected, or counted
  std::int32_t parts_here() const { return (end_part < 0 ? parts : end_part) - first_part; }
};

/// A tile of another node that several ranks of a node need: one of them fetches it once.
struct NodeCopy {
  int node = 0;
  bool of_a = false;
  std::int64_t tile = 0;              // its number in A's or B's directory
  int rank = 0;                       // who fetches it; the others take it from there
  std::int64_t bytes = 0;             // that cross
  Offset nnz = 0;                     // entries of the copy, where it is sparse
  std::int64_t size = 0, offset = 0;  // of the copy, in that rank's arena of copies
};

/// A tile of C of another node for which several ranks of a node have products: one of them adds these up.
struct NodeSum {
  int node = 0;
  std::int64_t tile = 0;
  int rank = 0;
  std::int64_t products = 0, bytes = 0;  // that it adds up; that cross (sparse: as expected)
};

/// What is known of a product of sparse tiles before it is computed.
struct ProductCount {
  double products = 0;  // of entries
  double nnz = 0;       // of the result, at most: products that meet counted as if columns were spread evenly
  RowsAlone met = {};   // rows of B for which A has columns
  RowsAlone alone = {};  // the same, with rows between that cost less than a range of their own
};

/// `count` copies of C: layer l has the ranks whose column of the grid (or row, where `count` does not divide the columns)
/// is l mod count, and does the products whose k is l mod count, whose tiles of A (of B) are its own. Each sums up its own
/// copy of a tile; one of these is the tile's owner's, to whom the others go. Fewer ranks share a layer, so that each
/// fetches sqrt(count) times fewer bytes: the 2.5-D products of Solomonik and Demmel (Euro-Par 2011), of which only the
/// copies of C are made here: tiles of A and B need no copies, because any rank can fetch them.
struct GridLayers {
  /// Throws Error{invalid_argument} where `count` divides neither side of the grid.
  GridLayers(ProcessGrid grid, int count);
  int of(std::int64_t k) const { return static_cast<int>(k % count); }
  int owner(std::int64_t i, std::int64_t j, int layer) const;  // of the layer's copy of C(i, j)

  ProcessGrid grid;
  int count = 1;
  bool columns = true;  // they are cut out of the grid's columns
};

struct MultiplyPlan {
  Stationary kept = Stationary::c;
  int replicas = 1;
  std::int64_t m = 0, k = 0, n = 0;  // tiles
  /// By stationary tile (and layer); within one tile in the order in which its owner works.
  std::vector<TileProduct> products;
  /// Where the products of each stationary tile begin, and the end; each of these tiles has at least one product.
  std::vector<std::int64_t> groups{0};
  std::int64_t skipped = 0;  // products that are left out because a factor has no entries
  int ranks = 1;
  std::vector<int> nodes;  // of each rank, where products know of nodes
  std::vector<NodeCopy> copies;
  std::vector<NodeSum> sums;
  std::int64_t dealt =
      0;  // products, or parts of them, that others than the owner of the stationary tile do (deal_products.hpp)
  double undealt = 0;  // most over mean flops of a rank without that; 0 where nothing was dealt

  std::int64_t turns() const;  // the most products that a rank has
};

/// The load of a rank under a plan, before anything is stolen.
struct PlanLoad {
  /// `received` counts results of other ranks, which are added up here.
  std::int64_t products = 0, fetched = 0, sent = 0, received = 0;
  std::int64_t far_fetched = 0, far_sent = 0;  // of these, bytes that cross between nodes
  double flops = 0;
};

/// Every (i, k, j) with entries in both factors exactly once. The order begins at an offset, i + j for stationary C,
/// i + k for A, k + j for B, so that owners ask different ranks for tiles. `counts` (of m k n
/// products, row by row over i, k, j; may be empty) comes from count_products(); without it entries are taken as spread
/// evenly within tiles. With a mask, products of tiles of C where it has no entries are left out, and results have at
/// most its entries. `replicas`: layers (GridLayers), of stationary C only; what a layer's copy of a tile sends stands with
/// its first product. Throws Error{invalid_argument} where the tiles do not fit together.
MultiplyPlan plan_multiply(const TileMap& a, const TileMap& b, const TileMap& c, Stationary kept,
                           std::span<const ProductCount> counts = {}, const TileMap* mask = nullptr,
                           int replicas = 1);

/// Throws Error{invalid_argument} with the sizes unless C = A B can be computed tile by tile.
void require_fitting(const TileMap& a, const TileMap& b, const TileMap& c);
/// The same of a mask, whose tiles are C's.
void require_mask(const TileMap& mask, const TileMap& c);
/// The directory of A B, on A's grid: sparse (without entries) where both are.
TileMap product_map(const TileMap& a, const TileMap& b, TileValue value);

/// Products of entries, expected entries of the result and, where single rows travel, entries of B that are needed, for every
/// product of sparse tiles: each owner of a tile of A fetches row offsets of the tiles of B, counts exactly, and all share the
/// numbers. `fetched` becomes the bytes of these offsets. Collective.
std::vector<ProductCount> count_products(TileMatrix& a, TileMatrix& b, std::int64_t* fetched = nullptr);

/// The rank that a product's sum goes to: the owner of C(i, j), or who adds up sums for it on the node of the product.
int receiver(const MultiplyPlan& plan, const TileMap& c, const TileProduct& product);
std::vector<PlanLoad> loads(const MultiplyPlan& plan, const TileMap& c);
/// The loads of the ranks, and the first `most` products.
std::string text(const MultiplyPlan& plan, const TileMap& c, std::int64_t most = 20);

}  // namespace penstock
