#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "penstock/comm/calls.hpp"
#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"

// How ranks talk. There are two implementations: ranks that are threads of this process (comm/threads.hpp; a single rank is
// the simplest case of it), and MPI, which is loaded on demand (comm/mpi/mpi.hpp). All counts are of bytes and have 64 bits.
// Nothing here knows of matrices.
namespace penstock {

/// Seconds that a rank waits for others before it gives up: PENSTOCK_COMM_TIMEOUT, or 300. Throws Error{invalid_argument}.
double default_timeout();

/// A message of an exchange that is carried out again and again. Its bytes are always in the same memory, or always at the
/// same distance from the base that rebase() sets.
struct Message {
  int rank = 0;  // the rank that it goes to or comes from
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::int64_t from_base = -1;  // a send begins so many bytes after the base; -1: at `data`
  const std::byte* source(const std::byte* base) const { return from_base < 0 ? data : base + from_base; }
};

/// A message whose entries lie scattered: `count` entries of `entry_bytes` at base + indices[i] * entry_bytes.
struct IndexedMessage {
  int rank = 0;
  const std::int32_t* indices = nullptr;
  std::int64_t count = 0;
};

/// Whether indices[i] = indices[0] + i for all i: then the entries lie side by side, and need not be gathered.
bool in_a_row(std::span<const std::int32_t> indices);

/// Messages described once and sent many times. start() posts them all, finish() returns when what comes here has
/// arrived and what goes may be overwritten. Every rank starts and finishes the same exchanges in the same order.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void start() = 0;
  virtual void finish() = 0;
  /// Sets the base of the scattered entries of indexed() and of messages with from_base. Local. It is called between finish()
  /// and start(), and before the first start() where a message has from_base.
  virtual void rebase(const std::byte* base) = 0;
};

/// A message that is under way. Nobody touches its memory before wait(), or before the end of the Comm.
using Request = std::int64_t;
inline constexpr Request kNoRequest = -1;

/// The ranks of a program and what they say to one another. One object a rank, used by one thread at a time. Collective
/// calls are made by all ranks in the same order. Where ranks make different calls, or differ in the root, operation, type or
/// size, all ranks throw Error{invalid_argument} that names two ranks and their calls (comm/calls.hpp). In collective calls
/// the first messages show this, and the ranks can go on afterwards. Otherwise it shows when a rank waits for what does not
/// come, and then the ranks have failed.
///
/// Every call throws Error{invalid_argument} for a rank out of range. It throws Error{comm} when another rank has failed
/// (fail(), an exception, a lost process), with that rank and its reason, and when nothing has come within timeout()
/// seconds: no call waits for ever.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // "threads", "MPI (Open MPI 5.0.11)"
  virtual bool one_process() const = 0;  // ranks share their memory: pointers may be exchanged
  virtual double timeout() const = 0;
  /// Whether messages may start and end in GPU memory, as far as the implementation says.
  virtual bool reaches_gpus() const { return false; }

  virtual void barrier() = 0;
  virtual void broadcast(void* data, std::int64_t bytes, int root) = 0;
  /// all[r] = the bytes that rank r gives; `bytes` of each rank.
  virtual void all_gather(const void* mine, std::int64_t bytes, void* all) = 0;
  /// Rank r gives offsets[r+1] - offsets[r] bytes, which land at all + offsets[r]; size() + 1 offsets, the same on all ranks.
  virtual void all_gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets) = 0;
  /// As all_gather_v, but only the root gets the bytes; the other ranks' `all` is not used.
  virtual void gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets, int root) = 0;
  /// The reverse: rank r gets the bytes from all + offsets[r] of the root.
  virtual void scatter_v(const void* all, std::span<const std::int64_t> offsets, void* mine, int root) = 0;
  /// The bytes from send + send_offsets[r] on go to rank r; those that come from it land at receive + receive_offsets[r].
  virtual void all_to_all_v(const void* send, std::span<const std::int64_t> send_offsets, void* receive,
                            std::span<const std::int64_t> receive_offsets) = 0;
  /// In place, the same bits on every rank.
  virtual void all_reduce(std::span<double> values, Reduce op) = 0;
  virtual void all_reduce(std::span<std::int64_t> values, Reduce op) = 0;
  /// As all_reduce(sum), but only the root gets the sums; the other ranks' values stay as they are.
  virtual void reduce_sum(std::span<double> values, int root) = 0;
  /// A sum that travels while the caller works, one at a time. The caller does not touch `values` before finish_sum().
  virtual void start_sum(std::span<double> values) = 0;
  virtual void finish_sum() = 0;

  /// Messages between two ranks with one tag arrive in the order in which they were sent. Tags are 0 to 32767.
  virtual Request send(const void* data, std::int64_t bytes, int to, int tag) = 0;
  virtual Request receive(void* data, std::int64_t bytes, int from, int tag) = 0;
  /// Waits for all of them, and leaves kNoRequest in each. Without requests it returns at once, or throws where a rank has
  /// failed.
  virtual void wait(std::span<Request> requests) = 0;

  // Exchanges, one function for each means that MPI has for them. They are collective, also for ranks without messages.
  // From one rank to another there is at most one message, and both give the same number of bytes.
  /// Persistent requests (MPI_Send_init).
  virtual std::unique_ptr<Exchange> persistent(std::vector<Message> sends, std::vector<Message> receives) = 0;
  /// A neighbourhood collective (MPI_Ineighbor_alltoallv on a graph communicator).
  virtual std::unique_ptr<Exchange> neighborhood(std::vector<Message> sends,
                                                 std::vector<Message> receives) = 0;
  /// Entries read straight from where they lie, without packing (MPI_Type_create_indexed_block).
  virtual std::unique_ptr<Exchange> indexed(const std::byte* base, std::int64_t entry_bytes,
                                            std::vector<IndexedMessage> sends,
                                            std::vector<Message> receives) = 0;
  /// One-sided: each sender puts its bytes and then a count into its receiver's window, where the receiver looks for
  /// it (MPI_Put; among ranks of one node stores into a window that they share). start() may wait for a receiver that is
  /// two exchanges behind.
  virtual std::unique_ptr<Exchange> put(std::vector<Message> sends, std::vector<Message> receives) = 0;

  /// A tag that no other step has, for a step that is made of send() and receive(). Collective.
  virtual int own_tag() = 0;
  /// Notes that a step with a tag of own_tag() begins. Collective.
  virtual void step(int tag) = 0;

  /// The objects that the ranks give, for ranks of one process. No object ends while another rank may still take it, also
  /// where a rank fails. Throws Error{not_accessible} among processes.
  virtual std::vector<std::shared_ptr<void>> share(std::shared_ptr<void> mine) = 0;

  /// The ranks of each color form a Comm, ordered by key, then by rank. Collective.
  virtual std::unique_ptr<Comm> split(int color, int key) = 0;

  /// Tells all ranks that this one cannot go on: their calls throw Error{comm} with the rank and this reason. Returns.
  virtual void fail(const std::string& why) noexcept = 0;

  /// Tells all ranks that this one's program has ended and makes no more calls; ranks that wait for it throw.
  virtual void leave() noexcept = 0;

  /// Sets the topic of all calls from now on (null: none), and returns the topic before. Like the calls, it must be the same
  /// on all ranks. It costs no message of its own: it travels with those of the calls.
  virtual TopicPtr exchange_topic(TopicPtr topic) noexcept = 0;
};

/// While it lives, calls have this topic. An inner one hides those around it.
class About {
 public:
  About(Comm& comm, TopicPtr topic) : comm_(comm), before_(comm.exchange_topic(std::move(topic))) {}
  About(Comm& comm, std::string text) : About(comm, std::make_shared<const Topic>(std::move(text))) {}
  ~About() { comm_.exchange_topic(std::move(before_)); }
  About(const About&) = delete;
  About& operator=(const About&) = delete;

 private:
  Comm& comm_;
  TopicPtr before_;
};

}  // namespace penstock
