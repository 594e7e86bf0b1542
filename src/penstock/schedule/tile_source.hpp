#pragma once
#include <concepts>
#include <optional>

#include "penstock/core/device.hpp"
#include "penstock/kernel/row_blocks.hpp"

namespace penstock {

/// The next piece of a matrix, readable by the stream that acquired it.
template <class V>
struct Tile {
  CsrView<V> view;
  RowBlock block;           // which rows of the whole matrix these are
  std::int64_t number = 0;  // of the block in its cut
  int slot = 0;
};

/// Anything that hands a kernel the next tile. A schedule is one TileSource; a new way of feeding kernels is a new one.
template <class S, class V>
concept TileSource = requires(S source, Stream stream, Tile<V> tile) {
  { source.acquire(stream) } -> std::same_as<std::optional<Tile<V>>>;
  source.release(tile, stream);
};

}  // namespace penstock
