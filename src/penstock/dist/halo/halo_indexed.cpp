#include "penstock/core/reserve.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/dist/halo/halo_packed.hpp"

// Nothing is packed: MPI reads entries where they are, through a type made by MPI_Type_create_indexed_block.
namespace penstock::halo {
namespace {

class IndexedHalo : public Halo {
 public:
  explicit IndexedHalo(const HaloContext& c)
      : plan_(c.plan),
        entry_bytes_(c.entry_bytes),
        ghosts_(allocate_apart<std::byte>(c.plan->ghosts() * c.entry_bytes)) {
    std::vector<IndexedMessage> sends;
    for (std::size_t i = 0; i < plan_->send_ranks.size(); ++i)
      sends.push_back({plan_->send_ranks[i], plan_->send_indices.data + plan_->send_offsets[i],
                       plan_->send_offsets[i + 1] - plan_->send_offsets[i]});
    exchange_ =
        c.comm->indexed(nullptr, entry_bytes_, std::move(sends),
                        messages(plan_->receive_ranks, plan_->receive_offsets, ghosts_.data, entry_bytes_));
  }

  void begin(const void* x, Stream) override {
    const ScopedTimer timer(&times_.pack);
    exchange_->rebase(static_cast<const std::byte*>(x));
    exchange_->start();
  }
  void end(Stream) override {
    const ScopedTimer timer(&times_.wait);
    exchange_->finish();
    times_.sent_bytes += plan_->sent() * entry_bytes_, times_.received_bytes += ghosts_.size;
    times_.messages += std::ssize(plan_->send_ranks), ++times_.exchanges;
  }
  const void* ghosts() const override { return ghosts_.data; }

 private:
  std::shared_ptr<const CommPlan> plan_;
  std::int64_t entry_bytes_;
  Array<std::byte> ghosts_;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace

std::unique_ptr<Halo> indexed(const HaloContext& c) { return std::make_unique<IndexedHalo>(c); }

}  // namespace penstock::halo
