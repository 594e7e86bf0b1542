// One device's part of a product. A GPU receives bytes over its link, computes, and sends bytes back, all at once, if it is
// given work for each. A lane does that with six streams, each of which works in order:
//
//   copies_              brings x, and then block after block into the slots of the ring
//   compute_             multiplies the block in a slot as soon as it has arrived
//   back_                sends that block's rows of y home
//   side_, other_side_   multiply the blocks that the device keeps
//   side_back_           sends their rows of y home
//
// Events order the streams among each other. compute_ and back_ are urgent: where a travelling block and a kept one wait for
// the GPU, the travelling one goes first, because its slot is wanted for the next copy. Kept blocks fill what is left.
//
// A slot goes round: `fill` claims the next block from the counter of all lanes and starts its copy; `compute` starts its
// kernel and the way home of its rows; then it is filled again. The host's thread waits for nothing but the arrival of the
// block that it wants to compute next.
//
// A copy to pageable memory would stop the host's thread. Where y is pageable, rows therefore go to a pinned staging area as
// large as y. Each such copy is a `Return` in a queue: once its event is reached, the CPU copies the rows on to y.
//
// Where a row is split, each piece leaves one sum in the call's cells, and StreamPlan adds them up.
//
// The CPU as a device runs the same code. Its copies are synchronous, so a slot is filled when it is needed; its kernels write
// straight into the caller's y.
#include "penstock/core/clock.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/schedule/lane.hpp"

namespace penstock {

/// Whether kernels write into the caller's y: it is in this device's memory.
bool Lane::writes_in_place(const LaneCall& call) const {
  return !where().is_gpu() || call.y.place == device_place(where());
}

/// Where a block's result is computed: in its cell, in the caller's y, or in the lane's own memory.
std::byte* Lane::y_for(const RowBlock& b, std::int64_t number, std::byte* own, const LaneCall& call) const {
  const auto entry = call.product->entry_bytes;
  if (b.piece) return (where().is_gpu() ? cells_.data : call.cells) + number * entry;
  return writes_in_place(call) ? call.y.data + b.first_row * entry : own;
}

/// Brings the old entries of y that the product reads to `y` on this device.
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

/// Queues the products of all kept blocks.
void Lane::start_kept(const LaneCall& call, DeviceTrace& trace) {
  const auto count = shape_.kept_last - shape_.kept_first;
  if (count == 0) return;
  const auto entry = call.product->entry_bytes;
  const auto first_row = list_.blocks[at(shape_.kept_first)].first_row;
  wait(side_, x_ready_), wait(other_side_, x_ready_);
  marked_ = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    poll_interrupt();
    const auto number = shape_.kept_first + i;
    const auto& b = list_.blocks[at(number)];
    // Blocks alternate between two streams, so that the last wave of a kernel and the first of the next share the GPU.
    const Stream stream = i % 2 == 0 ? side_ : other_side_;
    auto* y = y_for(b, number, kept_y_.data + (b.first_row - first_row) * entry, call);
    take_rows(b, y, call, stream);
    call.product->run(number, kept_.data + kept_at_[at(i)], x_, y, stream);
    record(kept_done_, stream);
    wait(side_back_, kept_done_);
    bring_back(b, number, y, call, side_back_);
    ++trace.kept_tiles;
    if (call.y_staging) mark_kept(i + 1, call);
  }
}

/// The first `done` kept blocks are queued. Marks cut them into equal parts: where one ends here, its rows become a Return.
void Lane::mark_kept(std::int64_t done, const LaneCall& call) {
  const auto count = shape_.kept_last - shape_.kept_first, marks = std::ssize(marks_);
  const auto mark = done * marks / count;
  if (mark == (done - 1) * marks / count) return;
  const auto& event = *marks_[at(mark - 1)];
  record(event, side_back_);
  const auto& last = list_.blocks[at(shape_.kept_first + done - 1)];
  const auto first = list_.blocks[at(shape_.kept_first + marked_)].first_row;
  const auto entry = call.product->entry_bytes;
  kept_returns_.push_back({&event, first * entry, (last.first_row + last.rows - first) * entry});
  marked_ = done;
}

/// Claims the next block that travels and starts its copy into the slot; no block where none is left, or a lane has failed.
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

/// Queues the product of the block in a slot, whose copy has arrived, and the way home of its rows.
void Lane::compute(Slot& s, const LaneCall& call, DeviceTrace& trace) {
  const auto& b = list_.blocks[at(s.number)];
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
  const bool gpu = where().is_gpu();
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
  if (gpu)
    for (auto& s : slots_) fill(*s, call, trace);
  start_kept(call, trace);
  for (std::size_t head = 0; !slots_.empty(); head = (head + 1) % slots_.size()) {
    auto& s = *slots_[head];
    if (!gpu) fill(s, call, trace);
    if (s.number < 0) break;
    poll_interrupt();
    const auto waiting = now();
    synchronize(s.full);
    trace.wait_seconds += now() - waiting;
    // The slot's last result must be out of the staging area's way before its event is used again.
    while (!returns_.empty() && returns_.front().done == &s.returned) land_first(returns_, call);
    read_clock(s);
    compute(s, call, trace);
    if (gpu) fill(s, call, trace);
    collect(call, false);
  }
  collect(call, true);
  for (auto& s : slots_) read_clock(*s);
  for (const Stream s : streams()) synchronize(s);
  trace.seconds = now() - started;
}

}  // namespace penstock
