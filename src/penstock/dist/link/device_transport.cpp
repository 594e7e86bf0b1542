// What transports between devices share. A get or put is a copy on a stream, and its ticket an event on that stream. Small
// copies have a stream of their own; larger ones take turns on several; the largest go one after the other to a copy engine.
// Words (claims, queues) are not in device memory: an inner transport of host memory keeps them.
#include "penstock/dist/link/device_transport.hpp"

#include <algorithm>
#include <utility>

#include "penstock/comm/transport_kinds.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/link/transport_gpu.hpp"
#include "penstock/kernel/structure/named_rows.hpp"
#include "penstock/kernel/vectors/accumulate.hpp"
#include "penstock/kernel/vectors/copy_by_kernel.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// Copies of this size take less time than their start, at 390 GB/s.
constexpr std::int64_t kSmall = 64 << 10;
/// From this size on a copy engine copies, one after the other on one stream; below it kernels copy on several streams.
/// Measured between H200s with 4 copies under way, in GB/s: 4 MB by engines 215 on one stream, 270 on four, by kernels 341; 16 MB 317 and 355; 64 MB 372 and 366. A
/// peer copy of the probe has 397, peer loads of a kernel 373.
constexpr std::int64_t kLargest = 32 << 20;
constexpr std::int64_t kRowNumber = 4;  // bytes of the number of a row
/// Bytes of numbers in host memory that are brought to the GPU at once, to be added there.
constexpr std::int64_t kAddedBytes = 16 << 20;

}  // namespace

DeviceTransport::DeviceTransport(std::string name, std::shared_ptr<Comm> comm, DeviceArenas arenas,
                                 std::int64_t bytes, std::int64_t zeroed, Where where, std::size_t large)
    : name_(std::move(name)),
      comm_(std::move(comm)),
      arenas_(std::move(arenas)),
      bytes_(bytes),
      where_(where),
      words_(make_transport("auto", comm_, std::min(bytes, kWordBytes), std::min(zeroed, kWordBytes))),
      streams_(take_copy_streams(where)),
      large_(std::min(large, streams_->large.size())) {}

DeviceTransport::~DeviceTransport() { streams_->drain_all(); }  // before the arenas are freed

std::byte* DeviceTransport::address(RemotePtr p) const {
  auto* const first = arenas_.at[static_cast<std::size_t>(p.rank)];
  return first ? first + p.offset : nullptr;
}

/// `mine` is the end that need not be in an arena. Where it is in host memory, which a kernel may not reach, a copy engine
/// copies.
void DeviceTransport::copy(void* to, const void* from, const void* mine, std::int64_t bytes, Stream stream) {
  if constexpr (have_cuda)
    if (where_.is_gpu() && bytes < kLargest && kernel_copies(to, from) &&
        place_of(mine) == device_place(where_))
      return gpu::copy_by_kernel(to, from, bytes, stream);
  copy_async(to, from, bytes, stream);
}

void DeviceTransport::queue_get(void* to, RemotePtr from, std::int64_t bytes, Stream stream) {
  copy(to, address(from), to, bytes, stream);
}
void DeviceTransport::queue_put(const void* from, RemotePtr to, std::int64_t bytes, Stream stream) {
  copy(address(to), from, from, bytes, stream);
}

Stream DeviceTransport::stream_for(std::int64_t bytes) {
  if (bytes <= kSmall) return streams_->small;
  if (bytes >= kLargest) return *streams_->large[0];
  turn_ = (turn_ + 1) % large_;
  return *streams_->large[turn_];
}

/// Calls queue(stream), which queues one copy.
template <class Queue>
Transport::Ticket DeviceTransport::queued(std::int64_t bytes, const Queue& queue) {
  heed();
  if (bytes == 0) return ++given_;
  const auto stream = stream_for(bytes);
  queue(stream);
  ++given_;
  if (!where_.is_gpu()) return given_;  // on the CPU a copy is done when it has been queued
  const auto event = streams_->take_event();
  record(*streams_->events[event], stream);
  under_way_.emplace(given_, event);
  return given_;
}

Transport::Ticket DeviceTransport::get(void* to, RemotePtr from, std::int64_t bytes) {
  require_in_arena(*this, from, bytes, 1, "get");
  return queued(bytes, [&](Stream stream) { queue_get(to, from, bytes, stream); });
}

Transport::Ticket DeviceTransport::put(const void* from, RemotePtr to, std::int64_t bytes) {
  require_in_arena(*this, to, bytes, 1, "put");
  return queued(bytes, [&](Stream stream) { queue_put(from, to, bytes, stream); });
}

/// A kernel copies all of them. Where they go to host memory, each run of rows is a copy.
Transport::Ticket DeviceTransport::get_rows(void* to, RemotePtr from, std::int64_t row_bytes,
                                            std::span<const std::int32_t> rows) {
  const auto place = device_place(where_);
  const bool there = where_.is_gpu() && !rows.empty() && place_of(rows.data()) == place;
  if (there) {
    require_in_arena(*this, from, row_bytes, 1, "get_rows");
    require(place_of(to) == place,
            "get_rows: the numbers are in a GPU's memory, so the rows must go there, too");
  }
  const auto bytes =
      there ? std::ssize(rows) * row_bytes : require_rows(*this, from, row_bytes, rows, "get_rows");
  const auto* const source = address(from);
  auto* const target = static_cast<std::byte*>(to);
  const auto count = std::ssize(rows);
  return queued(bytes, [&](Stream stream) {
    if (!where_.is_gpu() || there) return copy_rows(target, source, row_bytes, rows.data(), count, stream);
    if (place_of(to) == place) {
      const auto names = allocate_scratch(count * kRowNumber, stream);
      copy_async(names.get(), rows.data(), count * kRowNumber, stream);
      synchronize(stream);  // the numbers are the caller's
      return copy_rows(target, source, row_bytes, static_cast<const Index*>(names.get()), count, stream);
    }
    for (std::size_t n = 0; n < rows.size();) {
      auto end = n + 1;
      while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
      const auto first = rows[n] * row_bytes;
      copy_async(target + first, source + first, static_cast<std::int64_t>(end - n) * row_bytes, stream);
      n = end;
    }
  });
}

/// A copy each: those who have many queue a kernel, by get_by().
Transport::Ticket DeviceTransport::get_ranges(void* to, RemotePtr from, std::span<const ByteRange> ranges) {
  require_ranges(*this, from, ranges, "get_ranges");
  std::int64_t bytes = 0;
  for (const auto& r : ranges) bytes += r.bytes;
  return queued(bytes, [&](Stream stream) {
    for (const auto& r : ranges)
      if (r.bytes > 0)
        copy_async(static_cast<std::byte*>(to) + r.here, address(from) + r.there, r.bytes, stream);
  });
}

Transport::Ticket DeviceTransport::get_by(std::int64_t bytes, const std::function<void(Stream)>& queue) {
  return queued(bytes, queue);
}

void DeviceTransport::release(std::unordered_map<Ticket, std::size_t>::iterator done) {
  streams_->free.push_back(done->second);
  under_way_.erase(done);
}

void DeviceTransport::wait(Ticket ticket) {
  require_ticket(ticket, given_);
  heed();
  const auto found = under_way_.find(ticket);
  if (found == under_way_.end()) return;
  // A copy waits for no other rank, so neither does this.
  synchronize(Event(*streams_->events[found->second]));
  release(found);
}

bool DeviceTransport::test(Ticket ticket) {
  require_ticket(ticket, given_);
  heed();
  const auto found = under_way_.find(ticket);
  if (found == under_way_.end()) return true;
  if (!is_done(*streams_->events[found->second])) return false;
  release(found);
  return true;
}

RemotePtr DeviceTransport::word(RemotePtr at, const char* verb) const {
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::int64_t));
  require_in_arena(*this, at, kWord, kWord, verb);
  require(at.offset < kWordBytes, [&] {
    return std::string(verb) + ": words of a GPU's transport lie in the first " + std::to_string(kWordBytes) +
           " bytes of an arena, not at " + std::to_string(at.offset);
  });
  return at;
}
std::int64_t DeviceTransport::fetch_add(RemotePtr counter, std::int64_t value) {
  return words_->fetch_add(word(counter, "fetch_add"), value);
}
std::int64_t DeviceTransport::compare_swap(RemotePtr at, std::int64_t expected, std::int64_t desired) {
  return words_->compare_swap(word(at, "compare_swap"), expected, desired);
}
std::int64_t DeviceTransport::load(RemotePtr at) { return words_->load(word(at, "load")); }
void DeviceTransport::store(RemotePtr at, std::int64_t value) { words_->store(word(at, "store"), value); }

template <class T>
void DeviceTransport::add(RemotePtr to, const T* from, std::int64_t count) {
  constexpr auto kEach = static_cast<std::int64_t>(sizeof(T));
  const auto bytes = require_numbers(*this, to, count, kEach, "accumulate");
  heed();
  if (count == 0) return;
  auto* sums = reinterpret_cast<T*>(address(to));
  if (!sums || !adds_atomically(where_, sums))
    throw Error(Errc::not_accessible, "accumulate: the GPU of rank " + std::to_string(rank()) +
                                          " cannot add to the memory of rank " + std::to_string(to.rank) +
                                          "'s: get the numbers, or send them to their owner");
  const auto stream = stream_for(bytes);
  if (!where_.is_gpu() || place_of(from) == device_place(where_)) {
    penstock::accumulate(sums, from, count, stream);
    return synchronize(stream);
  }
  const auto most = std::min(count, kAddedBytes / kEach);
  const auto here = allocate_scratch(most * kEach, stream);
  for (std::int64_t i = 0; i < count; i += most) {
    const auto n = std::min(most, count - i);
    copy_async(here.get(), from + i, n * kEach, stream);
    penstock::accumulate(sums + i, static_cast<const T*>(here.get()), n, stream);
  }
  synchronize(stream);
}
template void DeviceTransport::add(RemotePtr, const float*, std::int64_t);
template void DeviceTransport::add(RemotePtr, const double*, std::int64_t);

void DeviceTransport::clear(std::int64_t bytes) {
  require_in_arena(*this, {rank(), 0}, bytes, 1, "clear");
  const Stream stream = streams_->small;
  fill_async(arena(), 0, bytes, stream);
  synchronize(stream);
  words_->clear(std::min(bytes, words_->arena_bytes()));
}

void DeviceTransport::barrier() {
  synchronize(Stream(streams_->small));
  for (const auto& stream : streams_->large) synchronize(Stream(*stream));
  words_->barrier();
}

}  // namespace penstock
