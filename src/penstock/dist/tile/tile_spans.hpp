#pragma once
#include "penstock/dist/tile/tiles.hpp"

// Finds the rows and columns in which sparse tiles have entries: the first and the last, and how many there are. Only those
// rows of a dense factor's tiles must then be fetched, which is a small part of them where a matrix has its entries near
// the diagonal, and on most graphs.
namespace penstock {

/// For a tile whose blob is complete, in host memory.
void find_spans(const std::byte* blob, TileAt& tile);
/// The columns with entries, of a tile as above.
TileRows find_columns(const std::byte* blob, const TileAt& tile);
/// Of a sparse tile with these row offsets, the named rows with entries and all rows between two of them where these have
/// at most `most` bytes, `each` bytes an entry; `alone` tells what travels then.
TileRows with_gaps(std::span<const Index> named, const Offset* ends, std::int64_t each, std::int64_t most,
                   RowsAlone& alone);
/// For all tiles of a whole matrix in host memory, which has the map's shape.
template <class V>
void find_spans(const CsrView<V>& whole, TileMap& map);

}  // namespace penstock
