#pragma once
#include "penstock/dist/tile/tiles.hpp"

// Finds the rows and columns in which sparse tiles have entries. Where a matrix has its entries near the diagonal, only a
// small part of a dense factor's tiles must then be fetched.
namespace penstock {

/// For a tile whose blob is complete, in host memory.
void find_spans(const std::byte* blob, TileAt& tile);
/// For all tiles of a whole matrix in host memory, which has the map's shape.
template <class V>
void find_spans(const CsrView<V>& whole, TileMap& map);

}  // namespace penstock
