// Arenas in NVSHMEM's symmetric memory. Its gets and puts start and end in this GPU's memory; on another machine they need
// symmetric memory here, too, and so does what comes from or goes to the host: that is copied through two small buffers
// behind the arena, one for each stream, in the order of the stream.
#include <algorithm>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/dist/link/device_transport.hpp"
#include "penstock/dist/link/nvshmem.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kThrough = 4 << 20;  // bytes of each of the two buffers
constexpr std::int64_t kArenaAlign = 256;

class NvshmemTransport final : public DeviceTransport {
 public:
  NvshmemTransport(std::shared_ptr<Comm> comm, DeviceArenas arenas, std::int64_t bytes, std::int64_t zeroed,
                   Where where, std::byte* buffers)
      : DeviceTransport("nvshmem", std::move(comm), std::move(arenas), bytes, zeroed, where, 1),
        buffers_(buffers) {}

  /// A kernel reaches only arenas on the same machine.
  bool gets_rows() const override { return false; }
  Ticket get_rows(void* to, RemotePtr from, std::int64_t row_bytes,
                  std::span<const std::int32_t> rows) override {
    return Transport::get_rows(to, from, row_bytes, rows);
  }
  Ticket get_ranges(void* to, RemotePtr from, std::span<const ByteRange> ranges) override {
    return Transport::get_ranges(to, from, ranges);
  }

 private:
  bool is_mine(RemotePtr p) const { return p.rank == rank(); }
  /// Whether NVSHMEM accepts this address for the end of a copy here.
  bool takes(const void* here, RemotePtr there, std::int64_t bytes) {
    const auto* at = static_cast<const std::byte*>(here);
    if (at >= arena() && at + bytes <= arena() + arena_bytes()) return true;
    return address(there) && place_of(here) == device_place(where());
  }
  /// The same place in this rank's arena, which is what NVSHMEM calls a symmetric address.
  std::byte* symmetric(RemotePtr p) { return arena() + p.offset; }
  std::byte* buffer(Stream stream) const { return buffers_ + (is_small(stream) ? kThrough : 0); }

  void queue_get(void* to, RemotePtr from, std::int64_t bytes, Stream stream) override {
    if (is_mine(from)) return copy_async(to, symmetric(from), bytes, stream);
    const UseDevice use(where());
    if (takes(to, from, bytes))
      return nvshmem().get(to, symmetric(from), static_cast<std::size_t>(bytes), from.rank, stream.handle);
    for (std::int64_t i = 0; i < bytes; i += kThrough) {
      const auto n = std::min(kThrough, bytes - i);
      nvshmem().get(buffer(stream), symmetric(from) + i, static_cast<std::size_t>(n), from.rank,
                    stream.handle);
      copy_async(static_cast<std::byte*>(to) + i, buffer(stream), n, stream);
    }
  }

  void queue_put(const void* from, RemotePtr to, std::int64_t bytes, Stream stream) override {
    if (is_mine(to)) return copy_async(symmetric(to), from, bytes, stream);
    const UseDevice use(where());
    const auto send = [&](const void* data, std::int64_t first, std::int64_t n) {
      nvshmem().put(symmetric(to) + first, data, static_cast<std::size_t>(n), to.rank, stream.handle);
      // Over a network this waits until the bytes have arrived.
      if (!address(to)) nvshmem().quiet(stream.handle);
    };
    if (takes(from, to, bytes)) return send(from, 0, bytes);
    for (std::int64_t i = 0; i < bytes; i += kThrough) {
      const auto n = std::min(kThrough, bytes - i);
      copy_async(buffer(stream), static_cast<const std::byte*>(from) + i, n, stream);
      send(buffer(stream), i, n);
    }
  }

  std::byte* buffers_;
};

}  // namespace

std::shared_ptr<Transport> make_nvshmem_transport(std::shared_ptr<Comm> comm, std::int64_t bytes,
                                                  std::int64_t zeroed, Where where) {
  const auto task = transport_text("nvshmem");
  start_nvshmem(*comm, where, task);
  const auto arena = (bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign;
  const OwnedStream stream(where);
  auto& block = take_symmetric(*comm, arena + 2 * kThrough, SymmetricUse::arena, stream, task);
  DeviceArenas arenas{{}, std::shared_ptr<void>(&block, [b = &block](void*) { b->taken = false; })};
  fill_async(block.memory, 0, zeroed, stream);
  synchronize(Stream(stream));
  comm->barrier();  // after this all arenas have their first contents
  for (int r = 0; r < comm->size(); ++r)
    arenas.at.push_back(r == comm->rank() ? block.memory
                                          : static_cast<std::byte*>(nvshmem().pointer(block.memory, r)));
  return std::make_shared<NvshmemTransport>(std::move(comm), std::move(arenas), bytes, zeroed, where,
                                            block.memory + arena);
}

}  // namespace penstock
