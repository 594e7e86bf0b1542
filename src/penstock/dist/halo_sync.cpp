#include <algorithm>
#include <numeric>

#include "penstock/core/trace.hpp"
#include "penstock/dist/halo_packed.hpp"

// Everything to everyone, as codes without a plan do: MPI_Allgatherv of x, from which each rank then picks its ghosts.
// For comparison, and for matrices whose every rank needs nearly all of x. Blocks: nothing overlaps with it.
namespace penstock::halo {
namespace {

class SyncHalo : public Halo {
 public:
  explicit SyncHalo(const HaloContext& c) : comm_(c.comm), plan_(c.plan), entry_bytes_(c.entry_bytes) {
    const auto ranks = static_cast<std::size_t>(comm_->size());
    std::vector<std::int64_t> counts(ranks);
    comm_->all_gather(&plan_->owned, sizeof(std::int64_t), counts.data());
    offsets_.resize(ranks + 1);
    std::partial_sum(counts.begin(), counts.end(), offsets_.begin() + 1);
    // Where each ghost lies in the gathered x: its owner knows the place, and a first exchange tells.
    places_ = allocate<std::int64_t>(plan_->ghosts());
    auto mine = allocate<std::int64_t>(plan_->sent());
    const auto first = offsets_[static_cast<std::size_t>(comm_->rank())];
    for (std::int64_t i = 0; i < plan_->sent(); ++i) mine.data[i] = first + plan_->send_indices.data[i];
    const auto tell = isend(
        comm_, messages(plan_->send_ranks, plan_->send_offsets, reinterpret_cast<std::byte*>(mine.data), 8),
        messages(plan_->receive_ranks, plan_->receive_offsets, reinterpret_cast<std::byte*>(places_.data),
                 8));
    tell->start();
    tell->finish();
    for (auto& o : offsets_) o *= entry_bytes_;
    all_ = allocate<std::byte>(offsets_.back());
    ghosts_ = allocate<std::byte>(plan_->ghosts() * entry_bytes_);
  }

  void begin(const void* x, Stream) override { x_ = x; }
  void end(Stream) override {
    {
      const ScopedTimer timer(&times_.wait);
      comm_->all_gather_v(x_, all_.data, offsets_);
    }
    const ScopedTimer timer(&times_.pack);
    for (std::int64_t i = 0; i < places_.size; ++i)
      std::copy_n(all_.data + places_.data[i] * entry_bytes_, entry_bytes_, ghosts_.data + i * entry_bytes_);
    const auto mine = plan_->owned * entry_bytes_;
    times_.sent_bytes += mine * (comm_->size() - 1), times_.received_bytes += all_.size - mine;
    times_.messages += comm_->size() - 1, ++times_.exchanges;
  }
  const void* ghosts() const override { return ghosts_.data; }

 private:
  std::shared_ptr<Comm> comm_;
  std::shared_ptr<const CommPlan> plan_;
  std::int64_t entry_bytes_;
  const void* x_ = nullptr;
  std::vector<std::int64_t> offsets_;  // in bytes, of the ranks' parts of x
  Array<std::int64_t> places_;
  Array<std::byte> all_, ghosts_;
};

}  // namespace

std::unique_ptr<Halo> sync(const HaloContext& c) { return std::make_unique<SyncHalo>(c); }

}  // namespace penstock::halo
