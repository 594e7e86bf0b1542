#pragma once
#include <functional>
#include <span>

#include "penstock/core/parallel.hpp"
#include "penstock/schedule/ring.hpp"
#include "penstock/schedule/streamed_blocks.hpp"

// What every streamed product does, whatever it computes with a tile. `drive_rings` starts a ring for each GPU and one for
// each thread of a host device. All rings draw blocks from one counter, so that a slow device takes fewer of them. Each
// ring is handed to the caller's function, which walks it with `each_tile`.
namespace penstock {

/// Calls multiply(tile) for every tile that the source hands out to the stream, then waits until the stream is idle.
template <class V, TileSource<V> Source, class Multiply>
void each_tile(Source& source, Stream stream, Trace& trace, Multiply&& multiply) {
  while (auto tile = source.acquire(stream)) {
    poll_interrupt();
    multiply(*tile);
    source.release(*tile, stream);
    ++trace.tiles;
  }
  synchronize(stream);
}

/// Calls body(ring, stream, trace) for every ring that `settings` ask for, on the thread that drives its device; the stream is
/// for the ring's kernels. `blocks` are a's, as streamed_blocks cuts them. What each ring did is added to `total`. After
/// an exception the other rings end with the tiles that they hold, and the first exception is rethrown.
template <class V>
void drive_rings(const Csr<V>& a, std::span<const RowBlock> blocks, const Streamed& settings, Trace& total,
                 const std::function<void(Ring<V>&, Stream, Trace&)>& body);

}  // namespace penstock
