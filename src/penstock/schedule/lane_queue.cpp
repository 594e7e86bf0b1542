// A lane's product without the host: everything is queued, and events keep the order. Slots of the ring go round as in
// lane_run.cpp, but here the streams wait for each other where there the host does. Nothing returns to the host, because x and
// y are on the GPU.
#include "penstock/core/error.hpp"
#include "penstock/schedule/lane.hpp"

namespace penstock {

void Lane::queue(const BlockProduct& product, std::int64_t travelling, const std::byte* x, std::byte* y,
                 Stream stream) {
  const auto rows_of = [&](std::int64_t number) {
    return y + list_.blocks[at(number)].first_row * product.entry_bytes;
  };
  const bool travels = travelling < shape_.travels_last;
  require(
      !travels || !is_capturing(stream),
      "a CUDA graph cannot record a product that streams the matrix from host memory: keep all of it on the "
      "GPU, with A.to(ps.device(0)) or A.prepare(schedule=ps.InCore(device=0))");
  queued_.store(true, std::memory_order_relaxed);
  if (travels) {
    order(stream, compute_);   // x is complete
    order(compute_, copies_);  // and the ring is free: products before this one have computed there
    const auto slots = std::ssize(slots_);
    for (auto number = travelling; number < shape_.travels_last; ++number) {
      auto& s = *slots_[at((number - travelling) % slots)];
      if (number - travelling >= slots) wait(copies_, s.computed);
      copy_in(number, s.memory, nullptr);
      record(s.full, copies_);
      wait(compute_, s.full);
      product.run(number, s.memory, x, rows_of(number), compute_);
      record(s.computed, compute_);
    }
  }
  for (auto i = shape_.kept_first; i < shape_.kept_last; ++i)
    product.run(i, kept_.data + kept_at_[at(i - shape_.kept_first)], x, rows_of(i), stream);
  if (travels) order(compute_, stream);
}

}  // namespace penstock
