#include "penstock/schedule/stream_plan.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kLeastSlot = 640;       // padding and a few nonzeros
constexpr std::int64_t kReserve = 512 * kMiB;  // left free for scratch and others without a budget,
constexpr std::int64_t kVectors = 6;           // and for so many vectors: a solver's live beside the plan
constexpr std::int64_t kChunk =
    8 * kMiB;  // of a staged vector: the CPU fills one while the link takes another
constexpr std::int64_t kSmallCopy = 64 << 10;  // the runtime stages pageable copies up to here by itself
constexpr std::int64_t kAlignment = 256;

std::int64_t up(std::int64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

/// 1/64 of the matrix: the first block's way in and the last one's kernel are then a few per cent of the whole. 16, 32 and
/// 64 MiB were within 2 % of each other on an H200 (R-MAT 24 and 26, raw and packed).
std::int64_t natural_slot(std::int64_t total) {
  return std::clamp<std::int64_t>(total / 64, kMiB, 32 * kMiB);
}

/// One GPU's memory: what it may hold of all, and what is left for blocks that stay and their rows of y.
struct Room {
  std::int64_t usable = 0;
  std::int64_t slot = 0;
  std::int64_t kept = 0;
  bool ring = true;
};

/// What a matrix asks of a budget before it is cut. `y_share`: bytes of y for each byte of the matrix, on the average.
struct Sizes {
  std::int64_t x_bytes, total;
  double y_share;
};

Room room_on(int gpu, const StreamSettings& s, const Sizes& sizes, double share) {
  require(s.slot_bytes == 0 || s.slot_bytes >= kLeastSlot,
          "Streamed: a block of " + std::to_string(s.slot_bytes) +
              " bytes holds no row on a GPU: give at least " + std::to_string(kLeastSlot));
  Room room;
  const auto free = gpu_info(gpu).free_bytes;
  const auto others = kReserve + kVectors * sizes.x_bytes;
  room.usable = s.device_memory > 0 ? s.device_memory : std::max(free - others, free / 2);
  room.usable = std::min(room.usable, std::max<std::int64_t>(free - kReserve / 8, 0));
  const auto lanes_here = std::count(s.devices.begin(), s.devices.end(), Where{gpu});
  room.usable = static_cast<std::int64_t>(static_cast<double>(room.usable) * share) / lanes_here;
  const auto left = room.usable - sizes.x_bytes - kAlignment * (2 * s.slots + 4);
  const auto of_matrix = [&](std::int64_t bytes) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(bytes) / (1 + sizes.y_share)),
                                  0);
  };
  const auto parts = std::ssize(s.devices);
  if (s.keep && of_matrix(left) >= sizes.total / parts + sizes.total / 64 + kMiB / 16) {
    room.ring = false, room.kept = of_matrix(left);
    return room;
  }
  // A row of a slot takes 8 bytes of it at least, and its entry of y as many again.
  const auto with_y = 8 + s.entry_bytes;
  const auto most = left / (s.keep && s.slot_bytes == 0 ? 2 : 1) / s.slots * 8 / with_y / 128 * 128;
  room.slot = std::min(s.slot_bytes > 0 ? s.slot_bytes : natural_slot(sizes.total), most);
  if (room.slot < kLeastSlot)
    throw Error(Errc::out_of_memory,
                "GPU " + std::to_string(gpu) + " may hold " + std::to_string(room.usable) +
                    " bytes, x takes " + std::to_string(sizes.x_bytes) + " of them, and " +
                    std::to_string(s.slots) + " slots need at least " +
                    std::to_string(s.slots * kLeastSlot * with_y / 8) +
                    ": allow more device_memory, use fewer slots, or cut the matrix into ranges of columns");
  if (s.keep) room.kept = of_matrix(left - s.slots * room.slot);
  return room;
}

}  // namespace

StreamPlan::StreamPlan(const Cut& cut, Shape matrix, const StreamSettings& settings) : settings_(settings) {
  require(!settings.devices.empty(), "Streamed: no device is named; give at least one");
  require(settings.slots >= 1, "Streamed: slots = " + std::to_string(settings.slots) + "; give at least 1");
  require(settings.slot_bytes >= 0 && settings.device_memory >= 0, "Streamed: a size is negative");
  // Another process may take memory between the question and the allocation: ask for less, then give up.
  std::exception_ptr first;  // has the numbers of all that may be held, later ones of a part of it
  for (double share = 1; lanes_.empty(); share /= 2) try {
      build(cut, matrix, share);
    } catch (const Error& e) {
      lanes_.clear();
      if (e.code() != Errc::out_of_memory || settings.device_memory > 0) throw;
      if (!first) first = std::current_exception();
      if (share < 0.2) std::rethrow_exception(first);
    }
}

/// Equal shares of what the devices keep, as far as each has room.
std::vector<std::int64_t> StreamPlan::shares_of(std::span<const std::int64_t> kept, std::int64_t total) {
  const auto all = std::accumulate(kept.begin(), kept.end(), std::int64_t(0));
  const auto wanted = std::min(all, total + total / 64 + std::ssize(kept) * kMiB / 16);
  std::vector<std::int64_t> shares;
  for (const auto k : kept)
    shares.push_back(all > 0 ? static_cast<std::int64_t>(double(wanted) * double(k) / double(all)) : 0);
  return shares;
}

/// Who keeps which blocks, and how large slots must be for the others.
std::vector<LaneShape> StreamPlan::assign(std::span<const std::int64_t> shares) const {
  const auto count = std::ssize(list_.blocks);
  std::vector<LaneShape> shapes;
  std::int64_t at = 0;
  for (std::size_t g = 0; g < shares.size(); ++g) {
    LaneShape shape{.where = settings_.devices[g], .kept_first = at, .travels_last = count};
    for (std::int64_t bytes = 0; at < count; ++at)
      if ((bytes += list_.bytes[std::size_t(at)]) > shares[g]) break;
    shape.kept_last = at;
    shapes.push_back(shape);
  }
  std::int64_t bytes = 0, rows = 0;
  for (auto i = at; i < count; ++i) {
    bytes = std::max(bytes, list_.bytes[std::size_t(i)]);
    rows = std::max(rows, list_.blocks[std::size_t(i)].rows);
  }
  for (auto& shape : shapes) {
    shape.slots = static_cast<int>(std::min<std::int64_t>(settings_.slots, count - at));
    shape.slot_bytes = bytes, shape.slot_rows = rows;
    shape.entry_bytes = settings_.entry_bytes, shape.bounce = settings_.bounce;
  }
  return shapes;
}

void StreamPlan::build(const Cut& cut, Shape matrix, double share) {
  const auto& devices = settings_.devices;
  const Sizes sizes{
      up(matrix.cols * settings_.entry_bytes), matrix.bytes,
      double(matrix.rows * settings_.entry_bytes) / double(std::max<std::int64_t>(matrix.bytes, 1))};
  std::vector<Room> rooms;
  std::vector<std::int64_t> kept;
  std::int64_t slot = std::int64_t(1) << 62;
  bool ring = false;
  for (const auto where : devices) {
    const auto& r = rooms.emplace_back(
        where.is_gpu() ? room_on(where.gpu, settings_, sizes, share)
                       : Room{.slot = settings_.slot_bytes > 0 ? settings_.slot_bytes : kMiB / 4});
    kept.push_back(r.kept);
    ring |= r.ring;
    if (r.ring) slot = std::min(slot, r.slot);
  }
  if (!ring) slot = natural_slot(matrix.bytes);  // rows too long to be kept in one block travel all the same
  // How many bytes of y the kept rows have is known after the cut alone: shares are corrected by what they came to.
  std::vector<LaneShape> shapes;
  bool fits = false;
  for (int round = 0; round < 9 && !fits; ++round) {
    if (round == 8) kept.assign(kept.size(), 0);
    const auto shares = shares_of(kept, matrix.bytes);
    list_ = cut(slot, shares);
    shapes = assign(shares);
    fits = true;
    bool full = true;
    for (std::size_t g = 0; g < devices.size(); ++g) {
      if (!devices[g].is_gpu()) continue;
      const auto need = Lane::bytes_needed(list_, shapes[g]);
      const auto fixed = need - Lane::bytes_needed(list_, shapes[g], true);
      const bool all = shapes.back().kept_last == std::ssize(list_.blocks);
      if (need <= rooms[g].usable && (all || kept[g] == 0 || need > rooms[g].usable * 49 / 50)) continue;
      (need > rooms[g].usable ? fits : full) = false;
      const auto space = double(std::max<std::int64_t>(rooms[g].usable - fixed, 0));
      const auto taken = double(std::max<std::int64_t>(need - fixed, 1));
      const auto held = double(std::min(kept[g], shares[g]));
      kept[g] = static_cast<std::int64_t>(held * std::min(space / taken, 4.0) * (round < 5 ? 0.995 : 0.9));
    }
    if (fits && !full && round < 4) fits = false;
  }
  for (std::size_t g = 0; g < devices.size(); ++g)
    if (const auto need = Lane::bytes_needed(list_, shapes[g]); devices[g].is_gpu() && need > rooms[g].usable)
      throw Error(Errc::out_of_memory, "GPU " + std::to_string(devices[g].gpu) + " may hold " +
                                           std::to_string(rooms[g].usable) + " bytes; x and " +
                                           std::to_string(shapes[g].slots) +
                                           " slots of the largest block take " + std::to_string(need) +
                                           ": allow more device_memory, smaller blocks or fewer slots");
  travels_first_ = shapes.back().kept_last;
  for (const auto& shape : shapes) {
    lanes_.push_back(std::make_unique<Lane>(list_, shape));
    poll_interrupt();
  }
  bool pieces = false, gpu = false;
  for (const auto& b : list_.blocks) pieces |= b.piece;
  for (const auto where : devices) gpu |= where.is_gpu();
  if (pieces)
    cells_ = allocate<std::byte>(std::ssize(list_.blocks) * settings_.entry_bytes,
                                 {gpu ? Memory::pinned : Memory::host});
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
        copy_async(stage + first, x + first, last - first, Stream{});  // by the CPU's threads
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
  std::optional<OwnedStream> stream;
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
    if (!stream) stream.emplace(Where{y.place.ordinal});
    alignas(16) std::byte cell[16];
    copy_async(cell, to, entry, *stream);
    synchronize(*stream);
    product.join(cells_.data + i * entry, last - i, cell);
    copy_async(to, cell, entry, *stream);
    synchronize(*stream);
  }
}

void StreamPlan::multiply(const BlockProduct& product, VectorAt x, VectorAt y, Trace* trace) {
  require(product.entry_bytes <= settings_.entry_bytes,
          "this plan was made for vectors of " + std::to_string(settings_.entry_bytes) +
              " bytes an entry, not " + std::to_string(product.entry_bytes) + ": make another");
  for (const auto& lane : lanes_)
    require(lane->where().is_gpu() || (x.place.memory != Memory::device && y.place.memory != Memory::device),
            "Streamed: a CPU takes part, so x and y must be in host memory");
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
