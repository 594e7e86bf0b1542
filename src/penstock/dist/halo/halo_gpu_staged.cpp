#include "penstock/dist/halo/halo_gpu_staged.hpp"

namespace penstock {

StagedHalo::StagedHalo(const HaloContext& context, Place buffers, std::int64_t send_entries)
    : GpuHalo(context),
      send_(allocate<std::byte>(send_entries * context.entry_bytes, buffers)),
      receive_(allocate<std::byte>(context.plan->ghosts() * context.entry_bytes, buffers)),
      begun_(context.where),
      packed_mark_(context.where),
      down_begun_(context.where),
      down_mark_(context.where),
      up_begun_(context.where),
      up_mark_(context.where) {
  exchange_ = comm().persistent(sends(send_.data), receives(receive_.data));
}

StagedHalo::~StagedHalo() { drain(mine_); }

/// The seconds of the last copy to the GPU, which has not been waited for yet.
void StagedHalo::settle() {
  if (!up_mark_.is_set()) return;
  synchronize(up_mark_);
  times_.copy += up_mark_.since(up_begun_);
}

void StagedHalo::begin(const void* x, Stream stream) {
  settle();
  follow(stream);
  begun_.set(mine_);
  pack(x);
  packed_mark_.set(mine_);
  x_ = x;
}

void StagedHalo::end(Stream stream) {
  down_begun_.set(mine_);
  down(x_);
  down_mark_.set(mine_);
  synchronize(down_mark_);
  scratch_.reset(), more_scratch_.reset();
  times_.pack += packed_mark_.since(begun_);
  times_.copy += down_mark_.since(down_begun_);
  const HostClock packing;
  packed_on_host();
  times_.pack += packing.seconds();
  const HostClock waiting;
  post(x_);
  exchange_->finish();
  times_.wait += waiting.seconds();
  up_begun_.set(mine_);
  up();
  up_mark_.set(mine_);
  wait(stream, up_mark_);
  count_exchange();
}

void StagedHalo::post(const void*) { exchange_->start(); }

void StagedHalo::up() { copy_async(ghosts_.data, receive_.data, receive_.bytes(), mine_); }

}  // namespace penstock
