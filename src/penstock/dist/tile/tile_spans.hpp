#pragma once
#include "penstock/dist/tile/tiles.hpp"

// Which rows and columns of sparse tiles have entries at all: where a matrix has its entries near the diagonal, little of a
// dense factor's tile is asked for.
namespace penstock {

/// Of a tile whose blob is complete, in host memory.
void find_spans(const std::byte* blob, TileAt& tile);
/// Of all tiles, cut out of a whole matrix in host memory that has the map's shape.
template <class V>
void find_spans(const CsrView<V>& whole, TileMap& map);

}  // namespace penstock
