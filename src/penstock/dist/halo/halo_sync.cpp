#include <algorithm>
#include <numeric>

#include "penstock/core/reserve.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/dist/halo/halo_packed.hpp"

// Sends all of x to all ranks by MPI_Allgatherv, as programs without a plan do; each rank then picks its ghosts. It is here
// for comparison, and for matrices of which every rank needs nearly all of x. It blocks, so no other work overlaps with it.
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
    // The place of each ghost in its owner's part of x: the owner knows it, and a first exchange tells it.
    places_ = allocate_apart<Index>(plan_->ghosts());
    auto* mine = reinterpret_cast<std::byte*>(const_cast<Index*>(plan_->send_indices.data));
    const auto tell = isend(comm_, messages(plan_->send_ranks, plan_->send_offsets, mine, sizeof(Index)),
                            messages(plan_->receive_ranks, plan_->receive_offsets,
                                     reinterpret_cast<std::byte*>(places_.data), sizeof(Index)));
    tell->start();
    tell->finish();
    for (auto& o : offsets_) o *= entry_bytes_;
    topic_ = comm_->exchange_topic(nullptr);
    comm_->exchange_topic(topic_);
    all_ = allocate_apart<std::byte>(offsets_.back());
    ghosts_ = allocate_apart<std::byte>(plan_->ghosts() * entry_bytes_);
  }

  void begin(const void* x, Stream) override { x_ = x; }
  void end(Stream) override {
    {
      const ScopedTimer timer(&times_.wait);
      const About about(*comm_, topic_);
      comm_->all_gather_v(x_, all_.data, offsets_);
    }
    const ScopedTimer timer(&times_.pack);
    for (std::size_t n = 0; n < plan_->receive_ranks.size(); ++n) {
      const auto first = plan_->receive_offsets[n], count = plan_->receive_offsets[n + 1] - first;
      pack(places_.slice(first, count).span(),
           all_.data + offsets_[static_cast<std::size_t>(plan_->receive_ranks[n])],
           ghosts_.data + first * entry_bytes_, entry_bytes_);
    }
    const auto mine = plan_->owned * entry_bytes_;
    times_.sent_bytes += mine * (comm_->size() - 1), times_.received_bytes += all_.size - mine;
    times_.messages += comm_->size() - 1, ++times_.exchanges;
  }
  const void* ghosts() const override { return ghosts_.data; }

 private:
  std::shared_ptr<Comm> comm_;
  std::shared_ptr<const CommPlan> plan_;
  std::int64_t entry_bytes_;
  TopicPtr topic_;  // of the product that this serves
  const void* x_ = nullptr;
  std::vector<std::int64_t> offsets_;  // in bytes, of the ranks' parts of x
  Array<Index> places_;                // of each ghost in its owner's part
  Array<std::byte> all_, ghosts_;
};

}  // namespace

std::unique_ptr<Halo> sync(const HaloContext& c) { return std::make_unique<SyncHalo>(c); }

}  // namespace penstock::halo
