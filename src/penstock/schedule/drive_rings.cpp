#include "penstock/schedule/drive_rings.hpp"

#include <atomic>
#include <mutex>

#include "penstock/core/parallel.hpp"
#include "penstock/schedule/drive_devices.hpp"

namespace penstock {

template <class V>
void drive_rings(const Csr<V>& a, std::span<const RowBlock> blocks, const Streamed& settings, Trace& total,
                 const std::function<void(Ring<V>&, Stream, Trace&)>& body) {
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

#define X(V)                                                                                   \
  template void drive_rings(const Csr<V>&, std::span<const RowBlock>, const Streamed&, Trace&, \
                            const std::function<void(Ring<V>&, Stream, Trace&)>&);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
