// NVSHMEM's host library: packed entries are put into the receiver's memory with a signal behind them, queued on the GPU.
// One process a GPU. There are two buffers in turn; one is filled again when its reader has signalled that it is empty.
// Symmetric memory is never freed, because that is collective and each rank ends a halo at another time; the next halo takes
// it over.
#include <algorithm>
#include <array>

#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/gpu_clock.hpp"
#include "penstock/dist/link/nvshmem.hpp"
#include "penstock/dist/link/peer.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr int kGreaterEqual = 5, kSignalSet = 9;
constexpr std::string_view kHaloOverNvshmem = "halo=\"nvshmem\"";

constexpr std::int64_t up(std::int64_t n) { return (n + 255) / 256 * 256; }

class NvshmemHalo final : public GpuHalo {
 public:
  explicit NvshmemHalo(const HaloContext& c) : GpuHalo(c), done_{OwnedEvent(c.where), OwnedEvent(c.where)} {
    std::array<std::int64_t, 2> most{plan().ghosts() * entry(), plan().sent() * entry()};
    comm().all_reduce(most, Reduce::max);
    buffer_bytes_ = up(most[0]);
    const auto signal_bytes = up(comm().size() * 8);
    block_ = &take_symmetric(comm(), 2 * buffer_bytes_ + up(most[1]) + 2 * signal_bytes, SymmetricUse::halo,
                             mine_, kHaloOverNvshmem);
    packed_ = block_->memory + 2 * buffer_bytes_;
    // The signals are at the end of the block: at the same place for all halos that use the block.
    emptied_ = reinterpret_cast<std::uint64_t*>(block_->memory + block_->bytes - signal_bytes);
    arrived_ = reinterpret_cast<std::uint64_t*>(block_->memory + block_->bytes - 2 * signal_bytes);
    indices_ = indices_in(device_place(c.where));
    first_ = places_at_others(comm(), plan(), true);
    base_ = block_->number;
    // Signals of an earlier halo may still arrive: the buffers are empty only when all ranks have come here.
    synchronize(Stream(mine_));
    comm().barrier();
  }
  ~NvshmemHalo() override { abandon(); }
  NvshmemHalo(const NvshmemHalo&) = delete;
  NvshmemHalo& operator=(const NvshmemHalo&) = delete;

  void begin(const void* x, Stream stream) override {
    const HostClock clock;
    if (!block_) throw Error(Errc::comm, "this exchange was given up after an error: make the matrix anew");
    const auto k = ++block_->number;
    const auto mine = k - base_;  // the number among this halo's exchanges
    if (mine > 2) synchronize_with(comm(), done_[k % 2], "an exchange of NVSHMEM");
    times_.wait += clock.seconds();
    follow(stream);
    gather(x, indices_.data, plan().sent(), entry(), packed_, mine_);
    const UseDevice use(where());
    void* queue = Stream(mine_).handle;
    const auto list = sends(packed_);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto& m = list[i];
      if (mine > 2) nvshmem().wait_signal(emptied_ + m.rank, kGreaterEqual, k - 2, queue);
      nvshmem().put_signal(buffer(k) + first_[i] * entry(), m.data, static_cast<std::size_t>(m.bytes),
                           arrived_ + comm().rank(), k, kSignalSet, m.rank, queue);
    }
  }

  void end(Stream stream) override {
    const auto k = block_->number;
    void* queue = Stream(mine_).handle;
    {
      const UseDevice use(where());
      for (const int rank : plan().receive_ranks)
        nvshmem().wait_signal(arrived_ + rank, kGreaterEqual, k, queue);
      copy_async(ghosts_.data, buffer(k), ghosts_.size, mine_);
      for (const int rank : plan().receive_ranks)
        nvshmem().signal(emptied_ + comm().rank(), k, kSignalSet, rank, queue);
    }
    record(done_[k % 2], mine_);
    wait(stream, done_[k % 2]);
    count_exchange();
  }

  void abandon() noexcept override {
    if (!block_) return;
    const auto ended = [&] {
      try {
        return block_->number == base_ || is_done(done_[block_->number % 2]);
      } catch (const Error&) {
        return true;
      }
    };
    constexpr int kLastWait = 1000;  // milliseconds
    for (int i = 0; i < kLastWait && !ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // An exchange that does not end keeps its block, so that no other halo writes there.
    if (ended()) drain(mine_), block_->taken = false;
    block_ = nullptr;
  }

 private:
  std::byte* buffer(std::uint64_t k) const {
    return block_->memory + static_cast<std::int64_t>(k % 2) * buffer_bytes_;
  }
  SymmetricBlock* block_ = nullptr;
  std::int64_t buffer_bytes_ = 0;
  std::byte* packed_ = nullptr;
  std::uint64_t *arrived_ = nullptr, *emptied_ = nullptr;
  std::uint64_t base_ = 0;
  std::vector<std::int64_t> first_;
  Array<const Index> indices_;
  OwnedEvent done_[2];
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_nvshmem(const HaloContext& c) {
  start_nvshmem(*c.comm, c.where, kHaloOverNvshmem);
  return std::make_unique<NvshmemHalo>(c);
}

}  // namespace penstock
