#include "penstock/schedule/stream_plan.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <string>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kLeastSlot = 640;       // padding and a few nonzeros
constexpr std::int64_t kReserve = 512 * kMiB;  // left free for scratch and for others, where no budget is set
constexpr std::int64_t kChunk =
    8 * kMiB;  // of a staged vector: the CPU fills one while the link takes another
constexpr std::int64_t kSmallCopy = 64 << 10;  // the runtime stages pageable copies up to here by itself
constexpr std::int64_t kAlignment = 256;

std::int64_t up(std::int64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

/// 1/64 of the matrix: the first block's way in and the last one's kernel are then a few per cent of the whole. Of 4 to
/// 64 MiB, all that are this small a part were within 2 % of each other on an H200.
std::int64_t natural_slot(std::int64_t total) {
  return std::clamp<std::int64_t>(total / 64, kMiB, 32 * kMiB);
}

struct Room {
  std::int64_t usable = 0;  // what one GPU may hold
  std::int64_t slot = 0;
  std::int64_t kept = 0;  // of it, for blocks that stay
  bool ring = true;
};

/// How one GPU's memory is shared out. The rows of a slot are not known before the cut: 8 bytes of it at least are a row's.
Room room_on(int gpu, const StreamSettings& s, std::int64_t cols, std::int64_t total, double share) {
  Room room;
  const auto free = gpu_info(gpu).free_bytes;
  room.usable = s.device_memory > 0 ? s.device_memory : std::max<std::int64_t>(free - kReserve, 0);
  room.usable = std::min(room.usable, std::max<std::int64_t>(free - kReserve / 8, 0));
  const auto lanes_here = std::count(s.devices.begin(), s.devices.end(), Where{gpu});
  room.usable = static_cast<std::int64_t>(static_cast<double>(room.usable) * share) / lanes_here;
  const auto x = up(cols * s.entry_bytes);
  const auto y_part =
      8 + s.entry_bytes;  // of 8 bytes of a slot: themselves and the entry of y that they may stand for
  const auto left = room.usable - x - kAlignment * (2 * s.slots + 4);
  const auto rows_too = [&](std::int64_t bytes) { return bytes / y_part * 8; };
  const auto parts = static_cast<std::int64_t>(std::ssize(s.devices));
  if (s.keep && rows_too(left) >= total / parts + kMiB) {
    room.ring = false, room.kept = rows_too(left);
    return room;
  }
  room.slot = s.slot_bytes > 0 ? s.slot_bytes : natural_slot(total);
  room.slot =
      std::min(room.slot, rows_too(left / (s.keep && s.slot_bytes == 0 ? 2 : 1)) / s.slots / 128 * 128);
  if (room.slot < kLeastSlot)
    throw Error(Errc::out_of_memory,
                "GPU " + std::to_string(gpu) + " may hold " + std::to_string(room.usable) +
                    " bytes, x takes " + std::to_string(x) + " of them, and " + std::to_string(s.slots) +
                    " slots need at least " + std::to_string(s.slots * kLeastSlot * y_part / 8) +
                    ": allow more device_memory, use fewer slots, or cut the matrix into ranges of columns");
  if (s.keep) room.kept = std::max<std::int64_t>(rows_too(left - s.slots * room.slot / 8 * y_part), 0);
  return room;
}

}  // namespace

StreamPlan::StreamPlan(const Cut& cut, std::int64_t cols, std::int64_t total_bytes,
                       const StreamSettings& settings)
    : settings_(settings) {
  require(!settings.devices.empty(), "Streamed: no device is named; give at least one");
  require(settings.slots >= 1, "Streamed: slots = " + std::to_string(settings.slots) + "; give at least 1");
  require(settings.slot_bytes >= 0 && settings.device_memory >= 0, "Streamed: a size is negative");
  // Another process may take memory between the question and the allocation: ask for less, then give up.
  for (double share = 1; lanes_.empty(); share /= 2) try {
      build(cut, cols, total_bytes, share);
    } catch (const Error& e) {
      lanes_.clear();
      if (e.code() != Errc::out_of_memory || settings.device_memory > 0 || share < 0.2) throw;
    }
}

void StreamPlan::build(const Cut& cut, std::int64_t cols, std::int64_t total, double share) {
  const auto& devices = settings_.devices;
  std::vector<Room> rooms;
  for (const auto where : devices)
    rooms.push_back(where.is_gpu()
                        ? room_on(where.gpu, settings_, cols, total, share)
                        : Room{.slot = settings_.slot_bytes > 0 ? settings_.slot_bytes : kMiB / 4});
  bool ring = false;
  std::int64_t slot = std::int64_t(1) << 62, kept_in_all = 0;
  for (const auto& r : rooms) ring |= r.ring, kept_in_all += r.kept;
  for (const auto& r : rooms)
    if (r.ring) slot = std::min(slot, r.slot);
  if (!ring) slot = natural_slot(total);  // a row too long to be kept in one block is all that may travel
  // Equal shares of what is kept, as far as each device has room.
  const auto wanted = std::min(kept_in_all, total + std::ssize(devices) * kMiB);
  std::vector<std::int64_t> shares;
  for (const auto& r : rooms)
    shares.push_back(kept_in_all > 0 ? static_cast<std::int64_t>(static_cast<double>(wanted) *
                                                                 static_cast<double>(r.kept) /
                                                                 static_cast<double>(kept_in_all))
                                     : 0);
  list_ = cut(slot, shares);
  const auto count = std::ssize(list_.blocks);
  std::vector<LaneShape> shapes;
  std::int64_t at = 0;
  for (std::size_t g = 0; g < devices.size(); ++g) {
    LaneShape shape{.where = devices[g], .kept_first = at, .kept_last = at, .travels_last = count};
    for (std::int64_t bytes = 0; at < count && shares[g] > 0; ++at) {
      bytes += up(list_.bytes[std::size_t(at)]);
      // Shares are rounded: the last device takes what is over, if there is room.
      const bool last = g + 1 == devices.size();
      if (bytes > (last ? std::max(shares[g], std::min(rooms[g].kept, shares[g] + 2 * kMiB)) : shares[g]))
        break;
    }
    shape.kept_last = at;
    shapes.push_back(shape);
  }
  travels_first_ = at;
  std::int64_t slot_bytes = 0, slot_rows = 0;
  for (auto i = at; i < count; ++i) {
    slot_bytes = std::max(slot_bytes, list_.bytes[std::size_t(i)]);
    slot_rows = std::max(slot_rows, list_.blocks[std::size_t(i)].rows);
  }
  const auto slots = static_cast<int>(std::min<std::int64_t>(settings_.slots, count - at));
  for (auto& shape : shapes) {
    shape.slots = slots, shape.slot_bytes = slot_bytes, shape.slot_rows = slot_rows;
    shape.entry_bytes = settings_.entry_bytes, shape.bounce = settings_.bounce;
    lanes_.push_back(std::make_unique<Lane>(list_, shape));
    poll_interrupt();
  }
  bool pieces = false, gpu = false;
  for (const auto& b : list_.blocks) pieces |= b.piece;
  for (const auto where : devices) gpu |= where.is_gpu();
  if (pieces)
    cells_ = allocate<std::byte>(count * settings_.entry_bytes, {gpu ? Memory::pinned : Memory::host});
  for (const auto& a : lanes_)
    for (const auto& b : lanes_) enable_peer(a->where(), b->where());
}

std::int64_t StreamPlan::streamed_bytes() const {
  return std::accumulate(list_.bytes.begin() + travels_first_, list_.bytes.end(), std::int64_t(0));
}

std::byte* StreamPlan::staging(Array<std::byte>& area, std::int64_t bytes) {
  if (area.size < bytes) area = allocate<std::byte>(bytes, {Memory::pinned});
  return area.data;
}

/// A part over each link, then from GPU to GPU; whole over each where GPUs do not reach each other.
void StreamPlan::spread_from_host(const std::byte* x, std::int64_t bytes, bool pageable) {
  std::vector<Lane*> gpus;
  for (auto& lane : lanes_)
    if (lane->where().is_gpu()) gpus.push_back(lane.get());
  bool peers = gpus.size() > 1 && bytes > kSmallCopy;
  for (const auto* a : gpus)
    for (const auto* b : gpus) peers = peers && enable_peer(a->where(), b->where());
  const auto n = static_cast<std::int64_t>(peers ? gpus.size() : 1);
  const auto part = up((bytes + n - 1) / n);
  const bool staged = pageable && bytes > kSmallCopy;
  auto* stage = staged ? staging(x_staging_, bytes) : nullptr;
  for (std::int64_t at = 0; at < part; at += kChunk)
    for (std::int64_t p = 0; p < n; ++p) {
      const auto first = p * part + at, last = std::min({p * part + part, first + kChunk, bytes});
      if (first >= last) continue;
      const auto* from = x + first;
      if (staged) {
        parallel_ranges(last - first, kMiB / 2, [&](std::int64_t i, std::int64_t j) {
          std::memcpy(stage + first + i, x + first + i, static_cast<std::size_t>(j - i));
        });
        from = stage + first;
      }
      for (std::size_t g = 0; g < gpus.size(); ++g)
        if (!peers || std::int64_t(g) == p)
          copy_async(gpus[g]->x_memory() + first, from, last - first, gpus[g]->x_stream());
    }
  if (peers) {
    for (auto* lane : gpus) lane->mark_x();
    for (std::size_t to = 0; to < gpus.size(); ++to)
      for (std::size_t step = 1; step < gpus.size(); ++step) {
        const auto from = (to + step) % gpus.size();  // in turns: no GPU is asked by all others at once
        const auto first = std::int64_t(from) * part, last = std::min(first + part, bytes);
        if (first >= last) continue;
        wait(gpus[to]->x_stream(), gpus[from]->x_ready());
        copy_async(gpus[to]->x_memory() + first, gpus[from]->x_memory() + first, last - first,
                   gpus[to]->x_stream());
      }
  }
  for (auto* lane : gpus) lane->use_x(lane->x_memory());
}

void StreamPlan::place_x(const BlockProduct& product, VectorAt x) {
  const auto bytes = list_.cols * product.entry_bytes;
  const bool on_gpu = x.place.memory == Memory::device;
  bool all_there = true;
  for (auto& lane : lanes_) {
    if (!lane->where().is_gpu()) {
      require(!on_gpu, "Streamed: a CPU takes part, so x must be in host memory");
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

/// Rows that travelled in pieces: their sums meet here. A y on a GPU comes and goes entry by entry: such rows are few.
void StreamPlan::finish_pieces(const BlockProduct& product, VectorAt y) {
  const auto entry = product.entry_bytes;
  const auto n = std::ssize(list_.blocks);
  for (std::int64_t i = 0, last; i < n; i = last) {
    const auto& b = list_.blocks[std::size_t(i)];
    last = i + 1;
    if (!b.piece) continue;
    while (last < n && list_.blocks[std::size_t(last)].piece &&
           list_.blocks[std::size_t(last)].first_row == b.first_row)
      ++last;
    auto* to = y.data + b.first_row * entry;
    if (y.place.memory != Memory::device) {
      product.join(cells_.data + i * entry, last - i, to);
      continue;
    }
    const OwnedStream stream(Where{y.place.ordinal});
    alignas(16) std::byte cell[16];
    copy_async(cell, to, entry, stream);
    synchronize(stream);
    product.join(cells_.data + i * entry, last - i, cell);
    copy_async(to, cell, entry, stream);
    synchronize(stream);
  }
}

void StreamPlan::multiply(const BlockProduct& product, VectorAt x, VectorAt y, Trace* trace) {
  require(product.entry_bytes <= settings_.entry_bytes,
          "this plan was made for vectors of " + std::to_string(settings_.entry_bytes) +
              " bytes an entry, not " + std::to_string(product.entry_bytes) + ": make another");
  const std::lock_guard turn(turn_);
  Trace local;
  auto& t = trace ? *trace : local;
  t = Trace{};
  t.schedule = travels_first_ == std::ssize(list_.blocks) ? "in_core" : "streamed", t.kernel = list_.kernel;
  const ScopedTimer timer(&t.seconds);
  const auto entry = product.entry_bytes;
  const auto y_bytes = list_.rows * entry;
  bool gpus = false;
  for (const auto& lane : lanes_) gpus |= lane->where().is_gpu();
  std::atomic<std::int64_t> next = travels_first_;
  std::atomic<bool> stop = false;
  LaneCall call{.product = &product,
                .y = y,
                .cells = cells_.data,
                .timed = trace != nullptr,
                .next = &next,
                .stop = &stop};
  if (gpus && y.place.memory == Memory::host) call.y_staging = staging(y_staging_, y_bytes);
  if (call.y_staging &&
      product.reads_y)  // whole ranges come back from there: rows in pieces must keep their old entry
    for (const auto& b : list_.blocks)
      if (b.piece)
        std::memcpy(call.y_staging + b.first_row * entry, y.data + b.first_row * entry, std::size_t(entry));
  t.devices.resize(lanes_.size());
  std::exception_ptr error;
  std::mutex lock;
  const auto fail = [&] {
    stop = true;
    const std::lock_guard guard(lock);
    if (!error) error = std::current_exception();
  };
  const auto drive = [&](std::size_t i) {
    try {
      lanes_[i]->run(call, t.devices[i]);
    } catch (...) {
      fail();
    }
  };
  try {
    place_x(product, x);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < lanes_.size(); ++i) others.emplace_back(drive, i);
    drive(0);
  } catch (...) {
    fail();
  }
  if (error) {
    for (auto& lane : lanes_) lane->abandon();
    std::rethrow_exception(error);
  }
  finish_pieces(product, y);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const auto& d = t.devices[i];
    const bool gpu = lanes_[i]->where().is_gpu();
    t.tiles += d.tiles + d.kept_tiles, t.copied_bytes += d.copied_bytes;
    t.ring_bytes += lanes_[i]->ring_bytes(), t.kept_bytes += lanes_[i]->kept_bytes();
    if (gpu) t.link_bytes += d.copied_bytes;
    t.copy_seconds += d.wait_seconds;
  }
  if (gpus && x.place.memory != Memory::device) t.link_bytes += list_.cols * entry;
  if (gpus && y.place.memory != Memory::device) t.link_bytes += (product.reads_y ? 2 : 1) * y_bytes;
  t.kernel_bytes = list_.total_bytes() + list_.cols * entry + (product.reads_y ? 2 : 1) * y_bytes;
}

}  // namespace penstock
