#include "penstock/dist/halo/halo_back.hpp"

#include "penstock/core/reserve.hpp"
#include "penstock/dist/halo/halo_packed.hpp"

namespace penstock {

HaloBack::HaloBack(std::string_view strategy, const HaloContext& c)
    : plan_(c.plan),
      ghosts_(allocate_apart<std::byte>(c.plan->ghosts() * c.entry_bytes)),
      received_(allocate_apart<std::byte>(c.plan->sent() * c.entry_bytes)) {
  if (strategy == "reduce") {
    exchange_ = halo::reduction(c, ghosts_.data, received_.data);
    return;
  }
  const auto make = strategy == "gather" ? halo::gather : halo::way_back(strategy);
  exchange_ =
      make(c.comm, halo::messages(plan_->receive_ranks, plan_->receive_offsets, ghosts_.data, c.entry_bytes),
           halo::messages(plan_->send_ranks, plan_->send_offsets, received_.data, c.entry_bytes));
}

void HaloBack::begin() {
  const ScopedTimer timer(&times_.pack);
  exchange_->start();
}

void HaloBack::wait() {
  const ScopedTimer timer(&times_.wait);
  exchange_->finish();
  times_.sent_bytes += ghosts_.size, times_.received_bytes += received_.size;
  times_.messages += std::ssize(plan_->receive_ranks), ++times_.exchanges;
}

}  // namespace penstock
