#pragma once
#include "penstock/dist/tile/one_sided.hpp"

// Products over nodes with several ranks, where the network between nodes is slower than what joins the ranks of one. What
// several ranks of a node need of another node's tile crosses once: one of them fetches it, for all of them, and the others
// take it from there. Sums of several ranks of a node for another node's tile are added by one of them, and cross once.
namespace penstock {

/// Copies of other nodes' tiles that this node has, as matrices: a tile that was copied is where the copy is. Of B they have
/// the rows that the node needs; all other places must not be read.
struct NodeCopies {
  TileMatrix a, b;
  std::vector<std::uint8_t> of_a, of_b;  // by number of tile: whether there is a copy
};

/// The memory of a rank for its part of a product: what it needs besides, and what it has for so many bytes in all.
struct HostRoom {
  double needed = 0;
  std::function<double(double bytes)> have;
};

/// Throws Error{invalid_argument} unless each rank has a node, Error{not_compiled} for tiles on a device.
void require_nodes(const TileMatrix& a, const TileMultiplyOptions& options);

/// Plans what crosses between nodes, counts its bytes exactly (of sums of sparse tiles: as expected), rewrites the bytes of
/// the plan's products, and fetches what the ranks of a node share. `counts` are those of the plan. Collective. Throws
/// Error{out_of_memory} on all ranks, before it fetches, where a rank has no room for it.
void share_within_nodes(TilePlan& plan, TileMatrix& a, TileMatrix& b, const std::vector<int>& nodes,
                        std::span<const ProductCount> counts, const HostRoom& room);

}  // namespace penstock
