#pragma once
#include <span>
#include <vector>

#include "penstock/dist/tile/plan_multiply.hpp"

// Who shares what in a product over nodes: data, found from the plan alone and alike on all ranks.
namespace penstock {

/// Gives the plan its nodes, the copies of other nodes' tiles that several ranks of a node need, and the sums that several ranks
/// of a node have for another node's tile, each with the rank that fetches or adds it. `shares_a` false: tiles of A are where they
/// are needed (a cover's parts). Bytes are for others to find.
void find_shares(MultiplyPlan& plan, const TileMap& a, const TileMap& b, const TileMap& c,
                 const std::vector<int>& nodes, bool shares_a);

/// Bytes of each copy on the rank that fetches it, at most: of a tile of B all of it.
std::int64_t most_bytes(const NodeCopy& copy, const TileMap& a, const TileMap& b);

/// The bytes of a sparse sum of so many entries, with the result that they are merged to.
double sparse_sum_bytes(const TileMap& c, const TileAt& tile, double entries);

/// Bytes of each rank that sums of nodes take while they are added up. `counts`: those of the plan; empty where B is dense.
std::vector<double> bytes_of_node_sums(const MultiplyPlan& plan, const TileMap& c,
                                       std::span<const ProductCount> counts, const TileMap* mask);

}  // namespace penstock
