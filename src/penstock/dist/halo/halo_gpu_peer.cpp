// For ranks that are threads of one process: the receiver's kernel reads the entries that it needs from the sender's x, over
// NVLink where they are on two GPUs. Nothing is packed, and nothing is sent. GPUs wait for events of one another; hosts wait
// for counters that say which event has been recorded. Between processes, halo_gpu_peer_packed.cpp is the strategy.
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/gpu_clock.hpp"
#include "penstock/dist/link/peer.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// What a rank shows the others. Exchanges are numbered; a counter says up to which number an event has been recorded. An
/// event is recorded again only when all have waited for it: `ready` after end(), which waits for the readers, and `read`
/// after the senders have begun the next exchange, which they do after end().
struct alignas(128) Cell {
  explicit Cell(Where where) : ready(where), read(where) {}
  const void* x = nullptr;
  OwnedEvent ready, read;  // x is complete; this rank's kernels have read all that they need
  std::atomic<std::int64_t> ready_count = 0, read_count = 0;
  bool closed = false;  // the gate of the board guards it
};
struct Board {
  explicit Board(int ranks) : cells(static_cast<std::size_t>(ranks)) {}
  std::shared_mutex gate;  // exclusive to close a cell, shared to queue reads
  std::vector<std::unique_ptr<Cell>> cells;
};

class PeerHalo final : public GpuHalo {
 public:
  explicit PeerHalo(const HaloContext& c) : GpuHalo(c) {
    board_ = shared_by_all<Board>(comm(), [&] { return std::make_shared<Board>(comm().size()); });
    cell(comm().rank()) = std::make_unique<Cell>(where());
    indices_ = senders_indices();
    comm().barrier();  // after this all cells exist
  }
  ~PeerHalo() override {
    abandon();
    drain(mine_);
  }
  PeerHalo(const PeerHalo&) = delete;
  PeerHalo& operator=(const PeerHalo&) = delete;

  void begin(const void* x, Stream stream) override {
    auto& own = *cell(comm().rank());
    if (where().is_gpu() && comm().size() > 1 && plan().sent() > 0 && !peers_reach(x)) x = copied(x, stream);
    own.x = x;
    record(own.ready, stream);
    wait(mine_, own.ready);  // the ghosts are overwritten when the caller has read them
    own.ready_count.store(++number_, std::memory_order_release);
  }

  void follow_beginning(Stream beside) override { wait(beside, cell(comm().rank())->ready); }

  void end(Stream stream) override {
    const HostClock clock;
    auto& own = *cell(comm().rank());
    for (const int rank : plan().receive_ranks) arrive(cell(rank)->ready_count, rank, "x");
    read_all();
    wait(stream, own.read);
    for (const int rank : plan().send_ranks) {
      arrive(cell(rank)->read_count, rank, "its reads of x");
      wait(stream, cell(rank)->read);  // x may be overwritten then
    }
    times_.wait += clock.seconds();
    count_exchange();
  }

  void abandon() noexcept override {
    auto& own = *cell(comm().rank());
    {
      const std::lock_guard alone(board_->gate);
      if (own.closed) return;
      own.closed = true;
    }
    for (const int rank : plan().send_ranks) {
      auto& reader = *cell(rank);
      // This work waits only for GPUs that still work, so it ends.
      if (number_ == 0 || reader.read_count.load(std::memory_order_acquire) < number_) continue;
      try {
        synchronize(Event(reader.read));
      } catch (const Error&) {  // a GPU that has failed reads no more
      }
    }
  }

 private:
  std::unique_ptr<Cell>& cell(int rank) { return board_->cells[static_cast<std::size_t>(rank)]; }

  void arrive(const std::atomic<std::int64_t>& count, int rank, std::string_view waited_for) {
    wait_until(
        comm(), [&] { return count.load(std::memory_order_acquire) >= number_; },
        "rank " + std::to_string(rank) + " and " + std::string(waited_for));
  }

  void read_all() {
    const std::shared_lock together(board_->gate);
    for (std::size_t i = 0; i < plan().receive_ranks.size(); ++i) {
      auto& sender = *cell(plan().receive_ranks[i]);
      if (sender.closed)
        throw Error(Errc::comm,
                    "rank " + std::to_string(plan().receive_ranks[i]) + " has given up: its vector is gone");
      const auto first = plan().receive_offsets[i], count = plan().receive_offsets[i + 1] - first;
      wait(mine_, sender.ready);
      gather(sender.x, indices_.data + first, count, entry(), ghosts_.data + first * entry(), mine_);
    }
    auto& own = *cell(comm().rank());
    record(own.read, mine_);
    own.read_count.store(number_, std::memory_order_release);
  }

  /// x, in memory that other GPUs reach.
  const void* copied(const void* x, Stream stream) {
    if (copy_.size == 0) copy_ = allocate_shared_array(plan().owned * entry(), device_place(where()));
    copy_async(copy_.data, x, copy_.size, stream);
    return copy_.data;
  }

  /// For each ghost, the sender's index of it.
  Array<const Index> senders_indices() {
    const auto& p = plan();
    const auto here = allocate<Index>(p.ghosts());
    std::vector<Message> out, in;
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Index));
    for (std::size_t i = 0; i < p.send_ranks.size(); ++i)
      out.push_back(
          {p.send_ranks[i],
           reinterpret_cast<std::byte*>(const_cast<Index*>(p.send_indices.data + p.send_offsets[i])),
           (p.send_offsets[i + 1] - p.send_offsets[i]) * kBytes});
    for (std::size_t i = 0; i < p.receive_ranks.size(); ++i)
      in.push_back({p.receive_ranks[i], reinterpret_cast<std::byte*>(here.data + p.receive_offsets[i]),
                    (p.receive_offsets[i + 1] - p.receive_offsets[i]) * kBytes});
    const auto exchange = comm().persistent(std::move(out), std::move(in));
    exchange->start();
    exchange->finish();
    const auto there = allocate<Index>(p.ghosts(), device_place(where()));
    copy_async(there.data, here.data, here.bytes(), mine_);
    synchronize(Stream(mine_));
    return there;
  }

  std::shared_ptr<Board> board_;
  Array<const Index> indices_;
  Array<std::byte> copy_;
  std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_peer(const HaloContext& c) {
  if (!c.comm->one_process()) return halo_gpu_peer_packed(c);
  require_peers(c, "peer");
  return std::make_unique<PeerHalo>(c);
}

}  // namespace penstock
