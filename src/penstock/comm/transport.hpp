#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "penstock/comm/comm.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/place.hpp"

// How a rank reads and writes the memory of other ranks at its own pace, without their taking part. Each rank owns one arena;
// all ranks together make them once. The callers tell one another what lies where in an arena (comm/arena.hpp).
namespace penstock {

/// A byte of a rank's arena.
struct RemotePtr {
  int rank = 0;
  std::int64_t offset = 0;  // bytes from the start of that rank's arena
};

/// Bytes that a get takes from `there` behind its source to `here` behind its target.
struct ByteRange {
  std::int64_t there = 0, here = 0, bytes = 0;
};

/// One-sided verbs. One object a rank, used by one thread at a time. Throws Error{invalid_argument} for bytes
/// outside the arena, and Error{comm}, as Comm does, when a rank has failed or comm().timeout() seconds have passed.
class Transport {
 public:
  /// A get or put under way. Tickets ascend from 1; wait() and test() may be asked again about one that is done.
  using Ticket = std::int64_t;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;          // "local", "mpi_rma", "peer", "nvshmem"
  virtual std::byte* arena() = 0;                // this rank's part, 64-byte aligned
  virtual std::int64_t arena_bytes() const = 0;  // the same on all ranks
  virtual Comm& comm() = 0;
  /// Whose memory the arenas are: the CPU's, or that of this rank's GPU (dist/link/transport_gpu.hpp). Gets and puts of a GPU's
  /// transport take addresses here in host memory or in the memory of that GPU.
  virtual Where where() const { return {}; }

  /// Copies from that rank's arena to `to`, or the reverse. The caller does not touch the memory here before wait(ticket)
  /// returns; by then the target sees what was put. Copies are not atomic: a rank that reads what another one writes must
  /// wait for it by load(), store() or barrier().
  virtual Ticket get(void* to, RemotePtr from, std::int64_t bytes) = 0;
  virtual Ticket put(const void* from, RemotePtr to, std::int64_t bytes) = 0;
  /// Copies single rows of `row_bytes` each, as one message: row r from r * row_bytes behind `from` to the same place behind
  /// `to`. The numbers ascend, and are not looked at after the call. Those in the memory of a GPU, where(), are not checked and
  /// stay there until wait(ticket) returns. Throws Error{not_accessible} unless gets_rows().
  virtual Ticket get_rows(void* to, RemotePtr from, std::int64_t row_bytes,
                          std::span<const std::int32_t> rows);
  /// Copies several ranges of bytes, as one message. The ranges are not looked at after the call, and do not overlap here.
  /// Throws Error{not_accessible} unless gets_rows().
  virtual Ticket get_ranges(void* to, RemotePtr from, std::span<const ByteRange> ranges);
  virtual bool gets_rows() const { return false; }
  /// For copies that the caller queues itself, where gets_rows() between devices: where the device of where() reads a byte of an
  /// arena, and the ticket of a copy of so many bytes that `queue` queues on a stream of the transport.
  virtual const std::byte* reached(RemotePtr from);
  virtual Ticket get_by(std::int64_t bytes, const std::function<void(Stream)>& queue);
  /// What a row or a range of such a message costs besides its bytes, in bytes that could travel in its place.
  virtual std::int64_t range_bytes() const { return 0; }
  virtual void wait(Ticket ticket) = 0;
  /// Whether the copy is done; if so, the same holds as after wait().
  virtual bool test(Ticket ticket) = 0;

  // Words: 8 bytes, aligned, and atomic among all ranks. Only the next four functions touch them. As long as several ranks may
  // change a word, all of them use the same one of fetch_add, compare_swap and store, because MPI promises nothing for a
  // mixture of these; load may always be used.
  /// Adds, and returns the value before.
  virtual std::int64_t fetch_add(RemotePtr counter, std::int64_t value) = 0;
  /// Writes `desired` if the word is `expected`, and returns the value before.
  virtual std::int64_t compare_swap(RemotePtr at, std::int64_t expected, std::int64_t desired) = 0;
  /// Acquire and release: a rank that loads a value also sees what the rank that stored it had put, and waited for, before.
  virtual std::int64_t load(RemotePtr at) = 0;
  virtual void store(RemotePtr at, std::int64_t value) = 0;

  /// Adds `count` numbers to those in that arena, aligned to their size; done on return. Where several ranks add to the same
  /// arena, no update is lost or doubled. Read the sums after barrier().
  virtual void accumulate(RemotePtr to, const double* from, std::int64_t count) = 0;
  virtual void accumulate(RemotePtr to, const float* from, std::int64_t count) = 0;

  /// Sets the first `bytes` of this rank's arena to zero, both the bytes and the words, while no rank uses them. The other
  /// ranks see this after the next collective call.
  virtual void clear(std::int64_t bytes) = 0;
  /// Completes what any rank has begun, and shows it to all ranks. Collective.
  virtual void barrier() = 0;
};

/// Makes a transport with arenas of `arena_bytes` on each rank. Collective, with the same arguments on all ranks. The first
/// `zeroed` bytes of each arena begin as zeros (below 0: all bytes). The others may hold anything, so that memory whose
/// pages exist already can be used again. `kind` is "local" (ranks are threads of one process), "mpi_rma" (MPI's
/// passive-target windows) or "auto" (the one that these ranks can use). Throws Error{invalid_argument} for other kinds and
/// negative sizes, Error{not_accessible} where the ranks cannot use the kind. Under MPI all ranks free windows together, so
/// the memory of a transport that has ended is freed when the next one is made, or at the end.
std::shared_ptr<Transport> make_transport(std::string_view kind, std::shared_ptr<Comm> comm,
                                          std::int64_t arena_bytes, std::int64_t zeroed = -1);

}  // namespace penstock
