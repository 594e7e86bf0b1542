#pragma once
#include <memory>
#include <vector>

#include "penstock/dist/tile/plan_multiply.hpp"

// The entries of a sparse tile in two parts: those that need rows of B, and those that give rows of C. An entry (r, c) of
// A(i, k) is multiplied where C(i, j) is, which fetches row c of B(k, j), or where B(k, j) is, which sends row r of the sum.
// The fewest rows travel where they are a minimum vertex cover of the bipartite graph of the tile's rows and columns (SHIRO,
// Zhuang et al., 2025), which König's theorem finds from a maximum matching (Hopcroft and Karp 1973).
namespace penstock {

/// Of each row: whether it is in the cover, and its sums travel. The columns of all other rows complete the cover, which is a
/// minimum unless the matching takes too many phases.
std::vector<std::uint8_t> cover_of(const CsrView<One>& tile);

/// A matrix in two, tile by tile. Where B(k, j) and C(i, j) are on the same rank, all entries are in `at_c`. `at_b` has the
/// grid turned over, so that for a grid of one column its tiles are where B's are.
struct TileSplit {
  TileMatrix at_c, at_b;
};

/// The split that `a` keeps, made on the first call. Collective.
std::shared_ptr<TileSplit> split_of(TileMatrix& a);
/// The same; null on all ranks where one has no memory for it. Collective.
std::shared_ptr<TileSplit> split_if_it_fits(TileMatrix& a);

/// The products of both parts: first, on each rank, those whose sums travel. B is dense, and on A's grid.
MultiplyPlan plan_cover(const TileSplit& a, const TileMap& b, const TileMap& c);

}  // namespace penstock
