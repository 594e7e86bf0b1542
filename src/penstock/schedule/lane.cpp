// What a lane holds: its memory on the device, and the copies that bring blocks there. lane_run.cpp has the product.
#include "penstock/schedule/lane.hpp"

#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/schedule/slot.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kMarks = 32;  // the result of kept blocks goes back in so many parts

std::int64_t slot_aligned(std::int64_t n) { return round_up(n, kSlotAlign); }

}  // namespace

Lane::Lane(const BlockList& list, const LaneShape& shape)
    : list_(list),
      shape_(shape),
      copies_(shape.where),
      compute_(shape.where, true),
      back_(shape.where, true),
      side_(shape.where),
      other_side_(shape.where),
      side_back_(shape.where),
      x_ready_(shape.where),
      kept_done_(shape.where) {
  if (where().is_gpu()) {
    x_own_ = take(list.cols * shape.entry_bytes);
    if (list.has_pieces()) cells_ = take(std::ssize(list.blocks) * shape.entry_bytes);
  }
  take_ring();
  try {
    keep_blocks();
  } catch (...) {
    abandon();  // copies on their way read memory that may be unlocked next
    throw;
  }
}

Lane::Need Lane::bytes_needed(const BlockList& list, const LaneShape& shape) {
  Need need;
  for (auto i = shape.kept_first; i < shape.kept_last; ++i)
    need.kept += slot_aligned(list.bytes[at(i)]) + list.blocks[at(i)].rows * shape.entry_bytes;
  need.fixed =
      list.cols * shape.entry_bytes +
      shape.slots * (slot_aligned(shape.slot_bytes) + slot_aligned(shape.slot_rows * shape.entry_bytes));
  if (list.has_pieces()) need.fixed += std::ssize(list.blocks) * shape.entry_bytes;
  return need;
}

Lane::~Lane() {
  abandon();
  if (queued_) drain(where());
}

std::array<Stream, 6> Lane::streams() const {
  return {copies_, compute_, back_, side_, other_side_, side_back_};
}

void Lane::abandon() noexcept {
  for (const Stream s : streams()) drain(s);
}

/// Memory of the device.
Array<std::byte> Lane::take(std::int64_t bytes) {
  if (bytes == 0) return {};
  if (!where().is_gpu()) return allocate<std::byte>(bytes);
  device_bytes_ += bytes;
  return allocate<std::byte>(bytes, device_place(where()));
}

void Lane::take_ring() {
  const bool gpu = where().is_gpu();
  const auto slot_bytes = slot_aligned(shape_.slot_bytes);
  const auto y_bytes = gpu ? slot_aligned(shape_.slot_rows * shape_.entry_bytes) : 0;
  ring_ = take(shape_.slots * slot_bytes);
  y_ring_ = take(shape_.slots * y_bytes);
  if (gpu && shape_.bounce && shape_.slots > 0)
    bounce_ = allocate<std::byte>(shape_.slots * slot_bytes, {Memory::pinned});
  for (int i = 0; i < shape_.slots; ++i) {
    auto& s = *slots_.emplace_back(std::make_unique<Slot>(where()));
    s.memory = ring_.data + i * slot_bytes;
    s.y = y_ring_.data + i * y_bytes;
    if (bounce_.size > 0) s.bounce = bounce_.data + i * slot_bytes;
  }
}

void Lane::keep_blocks() {
  std::int64_t bytes = 0, rows = 0;
  for (auto i = shape_.kept_first; i < shape_.kept_last; ++i) {
    kept_at_.push_back(bytes);
    bytes += slot_aligned(list_.bytes[at(i)]);
    rows += list_.blocks[at(i)].rows;
  }
  kept_ = take(bytes);
  if (where().is_gpu()) kept_y_ = take(rows * shape_.entry_bytes);
  kept_bytes_ = bytes;
  const auto count = shape_.kept_last - shape_.kept_first;
  for (std::int64_t m = 0; m < std::min(count, kMarks); ++m)
    marks_.push_back(std::make_unique<OwnedEvent>(where()));
  // These copies are made once, and the blocks are larger than a bounce slot: pageable memory is left to the runtime.
  for (std::int64_t i = 0; i < count; ++i) {
    poll_interrupt();
    copy_in(shape_.kept_first + i, kept_.data + kept_at_[at(i)], nullptr);
  }
  synchronize(Stream(copies_));
}

/// Copies a block to a slot of the device. `bounce` is where its bytes wait in pinned memory; without one, pageable memory
/// is copied by the runtime, at a seventh of the speed.
void Lane::copy_in(std::int64_t block, std::byte* slot, std::byte* bounce) {
  for (const auto& part : list_.copies(block)) {
    if (part.bytes == 0) continue;
    if (!bounce) {
      copy_async(slot + part.to, part.from, part.bytes, copies_);
      continue;
    }
    copy_async(bounce + part.to, part.from, part.bytes, kByCpu);
    copy_async(slot + part.to, bounce + part.to, part.bytes, copies_);
  }
}

}  // namespace penstock
