#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/comm/comm.hpp"
#include "penstock/core/place.hpp"

// How a rank reads and writes the memory of others at its own pace: they need not take part. A rank owns one arena,
// made once by all ranks together; what lies where in it (comm/arena.hpp) the callers tell one another.
namespace penstock {

/// A byte of a rank's arena.
struct RemotePtr {
  int rank = 0;
  std::int64_t offset = 0;  // bytes from the start of that rank's arena
};

/// One-sided verbs. One object a rank, used by one thread at a time. Throws Error{invalid_argument} for what lies
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
  /// Whose memory the arenas are: the CPU's, or that of this rank's GPU (dist/transport_gpu.hpp). Gets and puts of a GPU's
  /// transport take addresses here in host memory or in the memory of that GPU.
  virtual Where where() const { return {}; }

  /// Copies from that rank's arena to `to`, or the reverse; the memory here is left alone until wait(ticket). A put is
  /// seen by its target at the latest when its wait() has returned. They are not atomic: who reads what another writes
  /// arranges it by load(), store() or barrier().
  virtual Ticket get(void* to, RemotePtr from, std::int64_t bytes) = 0;
  virtual Ticket put(const void* from, RemotePtr to, std::int64_t bytes) = 0;
  virtual void wait(Ticket ticket) = 0;
  /// Whether it is done; then as after wait().
  virtual bool test(Ticket ticket) = 0;

  // Words of 8 bytes, aligned, which these alone touch: atomic among all ranks. While several ranks may change a word, they
  // do it by one of fetch_add, compare_swap and store: MPI promises nothing for a mixture (load is always well).
  /// Adds and returns what was there before.
  virtual std::int64_t fetch_add(RemotePtr counter, std::int64_t value) = 0;
  /// Writes `desired` where `expected` stands, and returns what was there before.
  virtual std::int64_t compare_swap(RemotePtr at, std::int64_t expected, std::int64_t desired) = 0;
  /// Acquire and release: what a rank put (and waited for) before its store() is seen by who loads that value.
  virtual std::int64_t load(RemotePtr at) = 0;
  virtual void store(RemotePtr at, std::int64_t value) = 0;

  /// Adds `count` numbers to those in that arena, aligned to their size; done on return. No update is lost or doubled
  /// against other accumulates to the same arena; read the sums after barrier().
  virtual void accumulate(RemotePtr to, const double* from, std::int64_t count) = 0;
  virtual void accumulate(RemotePtr to, const float* from, std::int64_t count) = 0;

  /// Makes the first `bytes` of this rank's arena zeros, as bytes and as words, while no rank uses them; the others see that
  /// once they have met by any collective call.
  virtual void clear(std::int64_t bytes) = 0;
  /// Collective: completes all that any rank issued, and shows it to all.
  virtual void barrier() = 0;
};

/// Collective, the same arguments on all ranks. The first `zeroed` bytes of each arena begin as zeros (below 0: all of
/// them); what the rest holds is left open, so that memory whose pages are there already may serve again. `kind`: "local"
/// (ranks are threads of one process), "mpi_rma" (MPI's passive-target windows) or "auto" (whichever the ranks can). `arena_bytes` on each rank. Throws
/// Error{invalid_argument} for other kinds and negative sizes, Error{not_accessible} where the ranks cannot do the kind.
/// Under MPI, windows are freed by all ranks together: the memory of a transport that is gone goes when the next one is
/// made, or at the end.
std::shared_ptr<Transport> make_transport(std::string_view kind, std::shared_ptr<Comm> comm,
                                          std::int64_t arena_bytes, std::int64_t zeroed = -1);

}  // namespace penstock
