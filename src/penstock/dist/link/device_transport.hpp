#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "penstock/comm/transport.hpp"
#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/dist/link/copy_streams.hpp"

// What the kinds of transport between GPUs share (dist/link/transport_gpu.hpp). Nobody but transports includes this.
namespace penstock {

/// The arenas of all ranks as this rank's GPU sees them.
struct DeviceArenas {
  std::vector<std::byte*> at;    // by rank; null: there is no address for it here
  std::shared_ptr<void> memory;  // keeps those that this rank uses
};

/// Copies by address, and words in an inner transport of host memory. Copies of some size take turns on several streams;
/// small ones have a stream of their own, and the largest use one of the several (dist/link/copy_streams.hpp).
class DeviceTransport : public Transport {
 public:
  /// Collective. The first `zeroed` bytes of arenas are zero, on all ranks. `large`: how many streams large copies have,
  /// at most.
  DeviceTransport(std::string name, std::shared_ptr<Comm> comm, DeviceArenas arenas, std::int64_t bytes,
                  std::int64_t zeroed, Where where, std::size_t large = 4);
  ~DeviceTransport() override;
  DeviceTransport(const DeviceTransport&) = delete;
  DeviceTransport& operator=(const DeviceTransport&) = delete;

  int rank() const final { return words_->rank(); }
  int size() const final { return words_->size(); }
  std::string name() const final { return name_; }
  std::byte* arena() final { return arenas_.at[static_cast<std::size_t>(rank())]; }
  std::int64_t arena_bytes() const final { return bytes_; }
  Comm& comm() final { return *comm_; }
  Where where() const final { return where_; }

  Ticket get(void* to, RemotePtr from, std::int64_t bytes) final;
  Ticket put(const void* from, RemotePtr to, std::int64_t bytes) final;
  Ticket get_rows(void* to, RemotePtr from, std::int64_t row_bytes,
                  std::span<const std::int32_t> rows) override;
  Ticket get_ranges(void* to, RemotePtr from, std::span<const ByteRange> ranges) override;
  bool gets_rows() const override { return true; }
  const std::byte* reached(RemotePtr from) override { return address(from); }
  Ticket get_by(std::int64_t bytes, const std::function<void(Stream)>& queue) override;
  void wait(Ticket ticket) final;
  bool test(Ticket ticket) final;

  std::int64_t fetch_add(RemotePtr counter, std::int64_t value) final;
  std::int64_t compare_swap(RemotePtr at, std::int64_t expected, std::int64_t desired) final;
  std::int64_t load(RemotePtr at) final;
  void store(RemotePtr at, std::int64_t value) final;

  void accumulate(RemotePtr to, const double* from, std::int64_t count) final { add(to, from, count); }
  void accumulate(RemotePtr to, const float* from, std::int64_t count) final { add(to, from, count); }

  void clear(std::int64_t bytes) final;
  void barrier() final;

 protected:
  /// Queues a copy of 1 byte or more, from or to an address here: this GPU's memory, or the host's.
  virtual void queue_get(void* to, RemotePtr from, std::int64_t bytes, Stream stream);
  virtual void queue_put(const void* from, RemotePtr to, std::int64_t bytes, Stream stream);
  /// Null where there is no address for that arena here.
  std::byte* address(RemotePtr p) const;
  bool is_small(Stream stream) const { return stream.handle == Stream(streams_->small).handle; }

 private:
  void heed() { comm_->wait({}); }  // throws where a rank has failed
  Stream stream_for(std::int64_t bytes);
  void copy(void* to, const void* from, const void* mine, std::int64_t bytes, Stream stream);
  template <class Queue>
  Ticket queued(std::int64_t bytes, const Queue& queue);
  void release(std::unordered_map<Ticket, std::size_t>::iterator done);
  RemotePtr word(RemotePtr at, const char* verb) const;
  template <class T>
  void add(RemotePtr to, const T* from, std::int64_t count);

  std::string name_;
  std::shared_ptr<Comm> comm_;
  DeviceArenas arenas_;
  std::int64_t bytes_;
  Where where_;
  std::shared_ptr<Transport> words_;
  std::shared_ptr<CopyStreams> streams_;
  std::size_t large_, turn_ = 0;  // streams of large copies in use, and the next one's number
  std::unordered_map<Ticket, std::size_t> under_way_;  // their events, by ticket
  Ticket given_ = 0;
};

// Collective; `bytes` are whole words, 0 <= zeroed <= bytes.
std::shared_ptr<Transport> make_peer_transport(std::shared_ptr<Comm> comm, std::int64_t bytes,
                                               std::int64_t zeroed, Where where);
std::shared_ptr<Transport> make_nvshmem_transport(std::shared_ptr<Comm> comm, std::int64_t bytes,
                                                  std::int64_t zeroed, Where where);

/// The words with which an error of a transport begins.
std::string transport_text(std::string_view kind);

}  // namespace penstock
