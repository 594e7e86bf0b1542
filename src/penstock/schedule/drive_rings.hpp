#pragma once
#include <atomic>
#include <mutex>
#include <span>

#include "penstock/core/parallel.hpp"
#include "penstock/schedule/drive_devices.hpp"
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
template <class V, class Body>
void drive_rings(const Csr<V>& a, std::span<const RowBlock> blocks, const Streamed& settings, Trace& total,
                 Body&& body) {
  std::atomic<std::int64_t> next = 0;
  std::mutex lock;
  const auto run_ring = [&](Where where) {
    Trace mine;
    {
      const OwnedStream stream(where);
      Ring<V> ring(a, blocks, next, where, settings.slots, &mine);
      body(ring, Stream(stream), mine);
    }
    const std::lock_guard guard(lock);
    total.tiles += mine.tiles;
    total.copied_bytes += mine.copied_bytes;
    total.link_bytes += mine.link_bytes;
    total.ring_bytes += mine.ring_bytes;
    total.copy_seconds += mine.copy_seconds;
  };
  const auto drive = [&](std::size_t i) {
    const Where where = settings.devices[i];
    if (where.is_gpu()) run_ring(where);
    else parallel_for(host_rings(settings), [&](std::int64_t) { run_ring(where); });
  };
  const auto stop = [&] { next = std::ssize(blocks); };
  drive_devices(settings.devices.size(), drive, stop);
}

}  // namespace penstock
