// A product by a plan. x is placed first, then every lane works on a host thread of its own: it multiplies the blocks that it
// keeps, and draws those that travel from one counter (lane_run.cpp). Sums of split rows are added at the end.
//
// A copy of x from pageable memory would run at a fraction of the link's speed. x therefore goes through pinned staging memory
// in chunks: the CPU's threads fill one chunk while the link takes another. A pageable y comes back the same way.
#include "penstock/schedule/stream_plan.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/schedule/drive_devices.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kChunk = 8 << 20;  // of a staged x: the CPU fills one while the link takes another
constexpr std::int64_t kSmallCopy = 64 << 10;  // the runtime stages pageable copies up to here by itself
constexpr std::int64_t kLargestEntry = 16;     // bytes of a double-precision complex number

/// Every GPU has its part of x, the i-th of `part_bytes`; here they copy the others' parts from each other.
void pass_on(std::span<Lane* const> gpus, std::int64_t part_bytes, std::int64_t bytes) {
  for (auto* lane : gpus) lane->mark_x();
  for (std::size_t to = 0; to < gpus.size(); ++to)
    for (std::size_t step = 1; step < gpus.size(); ++step) {
      const auto from = (to + step) % gpus.size();  // in turns: no GPU is asked by all others at once
      const auto first = std::int64_t(from) * part_bytes, last = std::min(first + part_bytes, bytes);
      if (first >= last) continue;
      wait(gpus[to]->x_stream(), gpus[from]->x_ready());
      copy_async(gpus[to]->x_memory() + first, gpus[from]->x_memory() + first, last - first,
                 gpus[to]->x_stream());
    }
}

}  // namespace

std::int64_t StreamPlan::streamed_bytes() const {
  return std::accumulate(list_.bytes.begin() + travels_first_, list_.bytes.end(), std::int64_t(0));
}

/// Pinned memory of at least so many bytes, kept from product to product.
std::byte* StreamPlan::staging(Array<std::byte>& area, std::int64_t bytes) {
  if (area.size < bytes) area = allocate<std::byte>(bytes, {Memory::pinned});
  return area.data;
}

/// Sends x to all GPUs. Where they reach each other, a part goes over each link, and then from GPU to GPU; else all of it goes
/// over each link.
void StreamPlan::spread_from_host(const std::byte* x, std::int64_t bytes, bool pageable) {
  std::vector<Lane*> gpus;
  for (auto& lane : lanes_)
    if (lane->where().is_gpu()) gpus.push_back(lane.get());
  bool peers = gpus.size() > 1 && bytes > kSmallCopy;
  for (const auto* a : gpus)
    for (const auto* b : gpus) peers = peers && enable_peer(a->where(), b->where());
  const auto parts = static_cast<std::int64_t>(peers ? gpus.size() : 1);
  const auto part_bytes = round_up((bytes + parts - 1) / parts, kDeviceAlign);
  const bool staged = pageable && bytes > kSmallCopy;
  auto* stage = staged ? staging(x_staging_, bytes) : nullptr;
  for (std::int64_t offset = 0; offset < part_bytes; offset += kChunk)
    for (std::int64_t p = 0; p < parts; ++p) {
      const auto first = p * part_bytes + offset;
      const auto last = std::min({p * part_bytes + part_bytes, first + kChunk, bytes});
      if (first >= last) continue;
      const auto* from = x + first;
      if (staged) {
        copy_async(stage + first, x + first, last - first, Stream{});  // by the CPU's threads
        from = stage + first;
      }
      for (std::size_t g = 0; g < gpus.size(); ++g)
        if (!peers || std::int64_t(g) == p)
          copy_async(gpus[g]->x_memory() + first, from, last - first, gpus[g]->x_stream());
    }
  if (peers) pass_on(gpus, part_bytes, bytes);
  for (auto* lane : gpus) lane->use_x(lane->x_memory());
}

/// Sees to it that every lane has x, or can read it, once its x_ready event is reached.
void StreamPlan::place_x(const BlockProduct& product, VectorAt x) {
  const auto bytes = list_.cols * product.entry_bytes;
  const bool on_gpu = x.place.memory == Memory::device;
  bool all_there = true;
  for (auto& lane : lanes_) {
    if (!lane->where().is_gpu()) {
      lane->use_x(x.data);
    } else if (on_gpu && lane->where().gpu == x.place.ordinal) {
      lane->use_x(x.data);
    } else if (on_gpu) {
      copy_async(lane->x_memory(), x.data, bytes, lane->x_stream());
      lane->use_x(lane->x_memory());
    } else {
      all_there = false;
    }
  }
  if (!all_there) spread_from_host(x.data, bytes, x.place.memory != Memory::pinned);
  for (auto& lane : lanes_) lane->mark_x();
}

/// Adds up the sums of rows that travelled in pieces. Of a y on a GPU, each such entry comes here and goes back by itself:
/// such rows are few.
void StreamPlan::finish_pieces(const BlockProduct& product, VectorAt y) {
  const auto entry = product.entry_bytes;
  const auto n = std::ssize(list_.blocks);
  std::optional<OwnedStream> stream;
  for (std::int64_t i = 0, last; i < n; i = last) {
    const auto& b = list_.blocks[at(i)];
    last = i + 1;
    if (!b.piece) continue;
    while (last < n && list_.blocks[at(last)].piece && list_.blocks[at(last)].first_row == b.first_row)
      ++last;
    auto* to = y.data + b.first_row * entry;
    if (y.place.memory != Memory::device) {
      product.join(cells_.data + i * entry, last - i, to);
      continue;
    }
    if (!stream) stream.emplace(Where{y.place.ordinal});
    alignas(kLargestEntry) std::byte cell[kLargestEntry];
    copy_async(cell, to, entry, *stream);
    synchronize(*stream);
    product.join(cells_.data + i * entry, last - i, cell);
    copy_async(to, cell, entry, *stream);
    synchronize(*stream);
  }
}

void StreamPlan::check_call(const BlockProduct& product, VectorAt x, VectorAt y) const {
  require(product.entry_bytes <= settings_.entry_bytes,
          "this plan was made for vectors of " + std::to_string(settings_.entry_bytes) +
              " bytes an entry, not " + std::to_string(product.entry_bytes) + ": make another");
  for (const auto& lane : lanes_)
    require(lane->where().is_gpu() || (x.place.memory != Memory::device && y.place.memory != Memory::device),
            "Streamed: a CPU takes part, so x and y must be in host memory");
}

/// Gives a pageable y its staging memory. Whole ranges come back from there, so rows in pieces must keep their old entries.
void StreamPlan::stage_y(LaneCall& call) {
  if (!uses_gpus() || call.y.place.memory != Memory::host) return;
  const auto entry = call.product->entry_bytes;
  call.y_staging = staging(y_staging_, list_.rows * entry);
  if (!call.product->reads_y) return;
  for (const auto& b : list_.blocks) {
    const auto offset = b.first_row * entry;
    if (b.piece) std::memcpy(call.y_staging + offset, call.y.data + offset, std::size_t(entry));
  }
}

void StreamPlan::multiply(const BlockProduct& product, VectorAt x, VectorAt y, Trace* trace) {
  check_call(product, x, y);
  const std::lock_guard turn(turn_);
  Trace local;
  auto& t = trace ? *trace : local;
  t = Trace{};
  t.schedule = travels_first_ == std::ssize(list_.blocks) ? "in_core" : "streamed", t.kernel = list_.kernel;
  const ScopedTimer timer(&t.seconds);
  std::atomic<std::int64_t> next = travels_first_;
  std::atomic<bool> stop = false;
  LaneCall call{.product = &product,
                .y = y,
                .cells = cells_.data,
                .timed = trace != nullptr,
                .next = &next,
                .stop = &stop};
  stage_y(call);
  t.devices.resize(lanes_.size());
  try {
    place_x(product, x);
    drive_devices(
        lanes_.size(), [&](std::size_t i) { lanes_[i]->run(call, t.devices[i]); }, [&] { stop = true; });
  } catch (...) {
    for (auto& lane : lanes_) lane->abandon();
    throw;
  }
  finish_pieces(product, y);
  sum_up(t, product, x, y);
}

bool StreamPlan::can_queue(Where gpu) const {
  return lanes_.size() == 1 && lanes_.front()->where() == gpu && !list_.has_pieces() &&
         (streamed_blocks() == 0 || !settings_.bounce);
}

void StreamPlan::queue(const BlockProduct& product, VectorAt x, VectorAt y, Stream stream) {
  require(can_queue(stream.where), "this plan's products cannot be queued: several devices share them");
  check_call(product, x, y);
  const std::lock_guard turn(turn_);
  lanes_.front()->queue(product, travels_first_, x.data, y.data, stream);
}

/// Adds up what the lanes have done.
void StreamPlan::sum_up(Trace& t, const BlockProduct& product, VectorAt x, VectorAt y) const {
  const auto x_bytes = list_.cols * product.entry_bytes;
  const auto y_bytes = (product.reads_y ? 2 : 1) * list_.rows * product.entry_bytes;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const auto& d = t.devices[i];
    t.tiles += d.tiles + d.kept_tiles, t.copied_bytes += d.copied_bytes;
    t.ring_bytes += lanes_[i]->ring_bytes(), t.kept_bytes += lanes_[i]->kept_bytes();
    if (lanes_[i]->where().is_gpu()) t.link_bytes += d.copied_bytes;
    t.copy_seconds += d.wait_seconds;
  }
  if (uses_gpus() && x.place.memory != Memory::device) t.link_bytes += x_bytes;
  if (uses_gpus() && y.place.memory != Memory::device) t.link_bytes += y_bytes;
  t.kernel_bytes = list_.total_bytes() + x_bytes + y_bytes;
}

}  // namespace penstock
