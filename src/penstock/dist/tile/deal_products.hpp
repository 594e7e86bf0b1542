#pragma once
#include <span>

#include "penstock/dist/tile/plan_multiply.hpp"

namespace penstock {

/// Most over mean flops of the ranks from which on products are dealt, and how much less the most loaded rank must have then.
constexpr double kWorthDealing = 1.5, kDealtLess = 0.9;

/// Gives parts of products of ranks that have most to do to ranks that have least: rows of the left factor with equally many
/// entries (tile_parts.hpp), whose sums go to the tile's owner. C stays where it is; A and B may travel to one rank more. A part
/// goes to the rank that is done with all it has soonest then, with what it fetches and sends: `flops_per_byte` is how many
/// operations a rank does in the time of a byte on the network. It is a plan, made from counts alone and alike on all ranks, before
/// anything moves; what is dealt is one group a rank and tile of C, behind the groups of stationary tiles. Returns false, and
/// leaves the plan as it was, where the ranks have equally much (kWorthDealing) or dealing makes too little of it (kDealtLess).
bool deal_products(MultiplyPlan& plan, const TileMap& a, const TileMap& b, const TileMap& c,
                   std::span<const ProductCount> counts, const TileMap* mask, double flops_per_byte);

}  // namespace penstock
