#include "penstock/dist/product/sums_gpu.hpp"

#include "penstock/dist/halo/halo_gpu_staged.hpp"
#include "penstock/dist/halo/halo_packed.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {

SumsGpu::SumsGpu(const HaloContext& c)
    : context_(c),
      mine_(c.where, true),
      ready_(c.where),
      down_(c.where),
      up_(c.where),
      added_(c.where),
      ghosts_(allocate<std::byte>(c.plan->ghosts() * c.entry_bytes, device_place(c.where))),
      received_(allocate<std::byte>(c.plan->sent() * c.entry_bytes, device_place(c.where))),
      ghosts_here_(allocate<std::byte>(ghosts_.size, reachable(c.where))),
      received_here_(allocate<std::byte>(received_.size, reachable(c.where))),
      indices_(allocate<Index>(c.plan->sent(), device_place(c.where))) {
  const auto& p = *c.plan;
  copy_async(indices_.data, p.send_indices.data, indices_.bytes(), mine_);
  synchronize(Stream(mine_));
  exchange_ =
      c.comm->persistent(halo::messages(p.receive_ranks, p.receive_offsets, ghosts_here_.data, c.entry_bytes),
                         halo::messages(p.send_ranks, p.send_offsets, received_here_.data, c.entry_bytes));
}

SumsGpu::~SumsGpu() { drain(mine_); }

void SumsGpu::begin(Stream stream) {
  record(ready_, stream);
  wait(mine_, ready_);
  copy_async(ghosts_here_.data, ghosts_.data, ghosts_.size, mine_);
  record(down_, mine_);
}

void SumsGpu::receive(Stream stream) {
  const HostClock copying;
  synchronize(down_);
  times_.copy += copying.seconds();
  const HostClock waiting;
  exchange_->start();
  exchange_->finish();
  times_.wait += waiting.seconds();
  // This is ordered after the kernels that read what came last time; the host memory was copied before `down_`.
  wait(mine_, added_);
  copy_async(received_.data, received_here_.data, received_.size, mine_);
  record(up_, mine_);
  wait(stream, up_);
  ++times_.exchanges;
  times_.messages += std::ssize(context_.plan->receive_ranks);
  times_.sent_bytes += ghosts_.size, times_.received_bytes += received_.size;
}

}  // namespace penstock
