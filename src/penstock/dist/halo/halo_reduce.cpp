#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/dist/halo/halo_packed.hpp"

// Adds up rows by MPI_Reduce among the ranks that share a range of rows; each of them gives all rows of the range. The naive
// distribution of Page and Kogge (2018, Fig. 3c) ends a product in this way.
namespace penstock::halo {
namespace {

class Reduction : public Exchange {
 public:
  Reduction(const HaloContext& c, const std::byte* ghosts, std::byte* received)
      : plan_(c.plan),
        width_(c.entry_bytes / std::int64_t{sizeof(double)}),
        ghosts_(reinterpret_cast<const double*>(ghosts)),
        received_(reinterpret_cast<double*>(received)) {
    const auto& owners = plan_->receive_ranks;
    require(owners.size() <= 1 && (owners.empty() || plan_->sent() == 0),
            "sums by reduction: each rank has rows of one owner; give a partition by grid");
    require(c.entry_bytes % std::int64_t{sizeof(double)} == 0, "sums by reduction are sums of float64");
    const bool master = owners.empty();
    const int owner = master ? c.comm->rank() : owners.front();
    row_ = c.comm->split(owner, master ? 0 : 1 + c.comm->rank());
    // The places that the rows have at their owner, who knows them and tells the others.
    places_ = allocate<Index>(plan_->ghosts());
    const auto tell = isend(
        c.comm,
        messages(plan_->send_ranks, plan_->send_offsets,
                 reinterpret_cast<std::byte*>(const_cast<Index*>(plan_->send_indices.data)), sizeof(Index)),
        messages(plan_->receive_ranks, plan_->receive_offsets, reinterpret_cast<std::byte*>(places_.data),
                 sizeof(Index)));
    tell->start();
    tell->finish();
    std::int64_t rows = plan_->owned;
    row_->broadcast(&rows, sizeof(rows), 0);
    sums_ = allocate<double>(row_->size() > 1 ? rows * width_ : 0);
  }

  void rebase(const std::byte*) override {}  // what it sends is always at the same address
  void start() override {}
  void finish() override {
    if (row_->size() == 1) return;
    std::fill_n(sums_.data, sums_.size, 0.0);
    for (std::int64_t i = 0; i < places_.size; ++i)
      std::copy_n(ghosts_ + i * width_, width_, sums_.data + places_.data[i] * width_);
    row_->reduce_sum(sums_.span(), 0);
    // The owner adds what comes from each rank in turn: the whole sum of a row comes with the first rank that names the row.
    for (std::int64_t i = 0; i < plan_->sent(); ++i) {
      auto* sum = sums_.data + plan_->send_indices.data[i] * width_;
      std::copy_n(sum, width_, received_ + i * width_);
      std::fill_n(sum, width_, 0.0);
    }
  }

 private:
  std::shared_ptr<const CommPlan> plan_;
  std::int64_t width_;
  const double* ghosts_;
  double* received_;
  std::unique_ptr<Comm> row_;  // of the ranks that share the range; the owner is rank 0
  Array<Index> places_;
  Array<double> sums_;  // a sum for every row of the range
};

}  // namespace

std::unique_ptr<Exchange> reduction(const HaloContext& c, const std::byte* ghosts, std::byte* received) {
  return std::make_unique<Reduction>(c, ghosts, received);
}

}  // namespace penstock::halo
