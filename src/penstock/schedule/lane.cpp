#include "penstock/schedule/lane.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSlotAlign = 128;
constexpr Stream kByCpu{};           // copies by the CPU's threads, done when the call returns
constexpr std::int64_t kMarks = 32;  // parts in which the result of kept blocks goes back

constexpr std::int64_t slot_aligned(std::int64_t n) { return (n + kSlotAlign - 1) / kSlotAlign * kSlotAlign; }

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Lane::Slot {
  explicit Slot(Where where)
      : full(where), computed(where), returned(where), begin(where, true), end(where, true) {}
  std::byte* memory = nullptr;
  std::byte* y = nullptr;
  std::byte* bounce = nullptr;
  OwnedEvent full, computed, returned, begin, end;
  std::int64_t number = -1;
  bool timed = false, returning = false;  // what is still to be read of the events
};

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
  const bool gpu = where().is_gpu();
  if (gpu) {
    x_own_ = take(list.cols * shape.entry_bytes);
    bool pieces = false;
    for (const auto& b : list.blocks) pieces |= b.piece;
    if (pieces) cells_ = take(std::ssize(list.blocks) * shape.entry_bytes);
  }
  const auto slot_bytes = slot_aligned(shape.slot_bytes),
             y_bytes = gpu ? slot_aligned(shape.slot_rows * shape.entry_bytes) : 0;
  ring_ = take(shape.slots * slot_bytes);
  y_ring_ = take(shape.slots * y_bytes);
  if (gpu && shape.bounce && shape.slots > 0)
    bounce_ = allocate<std::byte>(shape.slots * slot_bytes, {Memory::pinned});
  for (int i = 0; i < shape.slots; ++i) {
    auto& s = *slots_.emplace_back(std::make_unique<Slot>(where()));
    s.memory = ring_.data + i * slot_bytes;
    s.y = y_ring_.data + i * y_bytes;
    if (bounce_.size > 0) s.bounce = bounce_.data + i * slot_bytes;
  }
  try {
    keep_blocks();
  } catch (...) {
    abandon();  // copies on their way read memory that may be unlocked next
    throw;
  }
}

std::int64_t Lane::bytes_needed(const BlockList& list, const LaneShape& shape, bool kept_only) {
  std::int64_t kept = 0;
  for (auto i = shape.kept_first; i < shape.kept_last; ++i)
    kept += slot_aligned(list.bytes[std::size_t(i)]) + list.blocks[std::size_t(i)].rows * shape.entry_bytes;
  if (kept_only) return kept;
  bool pieces = false;
  for (const auto& b : list.blocks) pieces |= b.piece;
  return kept + list.cols * shape.entry_bytes + (pieces ? std::ssize(list.blocks) * shape.entry_bytes : 0) +
         shape.slots * (slot_aligned(shape.slot_bytes) + slot_aligned(shape.slot_rows * shape.entry_bytes));
}

Lane::~Lane() { abandon(); }

std::array<Stream, 6> Lane::streams() const {
  return {copies_, compute_, back_, side_, other_side_, side_back_};
}

void Lane::abandon() noexcept {
  for (const Stream s : streams()) drain(s);
}

Array<std::byte> Lane::take(std::int64_t bytes) {
  if (bytes == 0) return {};
  if (!where().is_gpu()) return allocate<std::byte>(bytes);
  device_bytes_ += bytes;
  return allocate<std::byte>(bytes, {Memory::device, static_cast<std::int16_t>(where().gpu)});
}

void Lane::keep_blocks() {
  std::int64_t bytes = 0, rows = 0;
  for (auto i = shape_.kept_first; i < shape_.kept_last; ++i) {
    kept_at_.push_back(bytes);
    bytes += slot_aligned(list_.bytes[std::size_t(i)]);
    rows += list_.blocks[std::size_t(i)].rows;
  }
  kept_ = take(bytes);
  if (where().is_gpu()) kept_y_ = take(rows * shape_.entry_bytes);
  kept_bytes_ = bytes;
  const auto count = shape_.kept_last - shape_.kept_first;
  for (std::int64_t m = 0; m < std::min(count, kMarks); ++m)
    marks_.push_back(std::make_unique<OwnedEvent>(where()));
  // Once, and larger than a bounce slot: pageable memory is left to the runtime.
  for (std::int64_t i = 0; i < count; ++i) {
    poll_interrupt();
    copy_in(shape_.kept_first + i, kept_.data + kept_at_[std::size_t(i)], nullptr);
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

std::byte* Lane::x_memory() { return x_own_.data; }

bool Lane::writes_in_place(const LaneCall& call) const {
  if (!where().is_gpu()) return true;
  return call.y.place == Place{Memory::device, static_cast<std::int16_t>(where().gpu)};
}

/// Old entries of y that the product reads, at `y` on this device.
void Lane::take_rows(const RowBlock& b, void* y, const LaneCall& call, Stream stream) {
  if (!call.product->reads_y || b.piece || writes_in_place(call)) return;
  const auto entry = call.product->entry_bytes;
  const auto* from = call.y.data + b.first_row * entry;
  if (call.y_staging) {
    auto* staged = call.y_staging + b.first_row * entry;
    copy_async(staged, from, b.rows * entry, kByCpu);
    from = staged;
  }
  copy_async(y, from, b.rows * entry, stream);
}

/// Sends a block's result home. True where the host must copy it on from the staging area, once it is there.
bool Lane::bring_back(const RowBlock& b, std::int64_t number, const void* y, const LaneCall& call,
                      Stream stream) {
  const auto entry = call.product->entry_bytes;
  if (b.piece) {
    copy_async(call.cells + number * entry, y, entry, stream);
    return false;
  }
  if (writes_in_place(call)) return false;
  auto* to = (call.y_staging ? call.y_staging : call.y.data) + b.first_row * entry;
  copy_async(to, y, b.rows * entry, stream);
  return call.y_staging != nullptr;
}

/// Where a block's result is computed: in its cell, in the caller's y, or in the lane's own memory.
std::byte* Lane::y_for(const RowBlock& b, std::int64_t number, std::byte* own, const LaneCall& call) const {
  const auto entry = call.product->entry_bytes;
  if (b.piece) return (where().is_gpu() ? cells_.data : call.cells) + number * entry;
  return writes_in_place(call) ? call.y.data + b.first_row * entry : own;
}

void Lane::start_kept(const LaneCall& call, DeviceTrace& trace) {
  const auto count = shape_.kept_last - shape_.kept_first;
  if (count == 0) return;
  const auto entry = call.product->entry_bytes;
  wait(side_, x_ready_), wait(other_side_, x_ready_);
  std::int64_t marked = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    poll_interrupt();
    const auto number = shape_.kept_first + i;
    const auto& b = list_.blocks[std::size_t(number)];
    // Two streams, so that the last wave of a kernel and the first of the next share the GPU.
    const Stream stream = i % 2 == 0 ? side_ : other_side_;
    const auto before = b.first_row - list_.blocks[std::size_t(shape_.kept_first)].first_row;
    auto* y = y_for(b, number, kept_y_.data + before * entry, call);
    take_rows(b, y, call, stream);
    call.product->run(number, kept_.data + kept_at_[std::size_t(i)], x_, y, stream);
    record(kept_done_, stream);
    wait(side_back_, kept_done_);
    bring_back(b, number, y, call, side_back_);
    ++trace.kept_tiles;
    const auto mark = (i + 1) * std::ssize(marks_) / count;  // marks cut the kept rows in equal parts
    if (!call.y_staging || mark == i * std::ssize(marks_) / count) continue;
    const auto& event = *marks_[std::size_t(mark - 1)];
    record(event, side_back_);
    const auto first = list_.blocks[std::size_t(shape_.kept_first + marked)].first_row;
    kept_returns_.push_back({&event, first * entry, (b.first_row + b.rows - first) * entry});
    marked = i + 1;
  }
}

void Lane::fill(Slot& s, const LaneCall& call, DeviceTrace& trace) {
  s.number = -1;
  if (call.stop->load(std::memory_order_relaxed)) return;
  const auto number = call.next->fetch_add(1, std::memory_order_relaxed);
  if (number >= shape_.travels_last) return;
  s.number = number;
  copy_in(number, s.memory, s.bounce);
  record(s.full, copies_);
  for (const auto& part : list_.copies(number)) trace.copied_bytes += part.bytes;
}

void Lane::compute(Slot& s, const LaneCall& call, DeviceTrace& trace) {
  const auto& b = list_.blocks[std::size_t(s.number)];
  const auto entry = call.product->entry_bytes;
  const bool gpu = where().is_gpu();
  auto* y = y_for(b, s.number, s.y, call);
  if (y == s.y) wait(compute_, s.returned);  // the slot's last result has left it
  take_rows(b, y, call, compute_);
  if (call.timed && gpu) record(s.begin, compute_);
  call.product->run(s.number, s.memory, x_, y, compute_);
  if (call.timed && gpu) record(s.end, compute_), s.timed = true;
  record(s.computed, compute_);
  wait(copies_, s.computed);
  if (gpu) {
    wait(back_, s.computed);
    const bool staged = bring_back(b, s.number, y, call, back_);
    record(s.returned, back_);
    if (staged) returns_.push_back({&s.returned, b.first_row * entry, b.rows * entry});
  }
  ++trace.tiles;
}

/// Waits until the first of these results is in the staging area, and copies it to the caller's y.
void Lane::land_first(std::deque<Return>& queue, const LaneCall& call) {
  const auto r = queue.front();
  synchronize(*r.done);
  copy_async(call.y.data + r.first, call.y_staging + r.first, r.bytes, kByCpu);
  queue.pop_front();
}

/// Copies results that have reached the staging area to the caller's y; all of them, or those that are there.
void Lane::collect(const LaneCall& call, bool all) {
  for (auto* queue : {&returns_, &kept_returns_})
    while (!queue->empty() && (all || is_done(*queue->front().done))) land_first(*queue, call);
}

void Lane::run(const LaneCall& call, DeviceTrace& trace) {
  const auto started = now();
  trace.gpu = where().gpu;
  returns_.clear(), kept_returns_.clear();
  for (auto& s : slots_) s->timed = false;
  const auto read_clock = [&](Slot& s) {
    if (!s.timed) return;
    synchronize(s.end);
    trace.kernel_seconds += seconds(s.begin, s.end);
    s.timed = false;
  };
  wait(compute_, x_ready_);
  if (where().is_gpu())
    for (auto& s : slots_) fill(*s, call, trace);
  start_kept(call, trace);
  for (std::size_t head = 0; !slots_.empty(); head = (head + 1) % slots_.size()) {
    auto& s = *slots_[head];
    if (!where().is_gpu())
      fill(s, call, trace);  // copies are synchronous there: a slot is filled when it is needed
    if (s.number < 0) break;
    poll_interrupt();
    const auto waiting = now();
    synchronize(s.full);
    trace.wait_seconds += now() - waiting;
    // The slot's last result must be out of the staging area's way before its event is used again.
    while (!returns_.empty() && returns_.front().done == &s.returned) land_first(returns_, call);
    read_clock(s);
    compute(s, call, trace);
    if (where().is_gpu()) fill(s, call, trace);
    collect(call, false);
  }
  collect(call, true);
  for (auto& s : slots_) read_clock(*s);
  for (const Stream s : streams()) synchronize(s);
  trace.seconds = now() - started;
}

}  // namespace penstock
