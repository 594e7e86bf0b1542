// How a plan divides a matrix among its devices. Before the matrix is cut, gpu_room says for each GPU how large the slots of
// its ring may be and how many bytes of blocks it may keep. The matrix is then cut: blocks to keep come first, device after
// device, and all blocks behind them travel.
//
// Only the cut shows how many rows the kept blocks have, and with them how much of y. `fit` therefore works in rounds: it
// cuts, counts what each GPU would need, and corrects each share by the ratio of what there is to what was taken. A share
// that is too large becomes smaller. In the first rounds, a share that leaves memory unused becomes larger.
#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/schedule/stream_plan.hpp"

namespace penstock {
namespace {

// Shares of the usable memory that are tried: 1, 1/2, 1/4 and 1/8, which is the first below this.
constexpr double kLeastShare = 0.2;

// How shares are corrected. No measurement of these numbers is recorded. Rounds are counted from 0.
constexpr int kLastRound = 8;      // it keeps nothing: then x and a ring fit, or nothing does
constexpr int kGrowingRounds = 4;  // before this round, shares that leave memory unused are corrected as well
constexpr double kMostGrowth = 4;  // a round makes a share at most so many times as large
constexpr int kFineRounds = 5;  // before this round, corrections aim close to the limit, later well below it
constexpr double kFineAim = 0.995, kCoarseAim = 0.9;  // parts of the space that there is

/// A GPU is full when less than one part in 50 of what it may hold is left.
bool is_full(std::int64_t need, std::int64_t usable) { return need > usable * 49 / 50; }

/// Equal shares of what the devices keep, as far as each has room: bytes of blocks for each device.
std::vector<std::int64_t> shares_of(std::span<const std::int64_t> kept, std::int64_t matrix_bytes) {
  const auto all = std::accumulate(kept.begin(), kept.end(), std::int64_t(0));
  const auto wanted = std::min(all, matrix_bytes + cut_slack(matrix_bytes, std::ssize(kept)));
  std::vector<std::int64_t> shares;
  for (const auto k : kept)
    shares.push_back(all > 0 ? static_cast<std::int64_t>(double(wanted) * double(k) / double(all)) : 0);
  return shares;
}

/// The slot that all rings have: the smallest that any of them wants.
std::int64_t slot_for(std::span<const GpuRoom> rooms, std::int64_t matrix_bytes) {
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  auto slot = kNone;
  for (const auto& r : rooms)
    if (r.ring) slot = std::min(slot, r.slot);
  // Where all stays, rows that are too long to be kept in one block travel all the same.
  return slot == kNone ? natural_slot(matrix_bytes) : slot;
}

/// What a GPU may keep in the next round, which held `held` bytes of blocks in this one.
std::int64_t corrected(std::int64_t held, const Lane::Need& need, std::int64_t usable, int round) {
  const auto space = double(std::max<std::int64_t>(usable - need.fixed, 0));
  const auto taken = double(std::max<std::int64_t>(need.kept, 1));
  const auto aim = round < kFineRounds ? kFineAim : kCoarseAim;
  return static_cast<std::int64_t>(double(held) * std::min(space / taken, kMostGrowth) * aim);
}

}  // namespace

StreamPlan::StreamPlan(const Cut& cut, Shape matrix, const StreamSettings& settings) : settings_(settings) {
  require(!settings.devices.empty(), "Streamed: no device is named; give at least one");
  require(settings.slots >= 1, "Streamed: slots = " + std::to_string(settings.slots) + "; give at least 1");
  require(settings.slot_bytes >= 0 && settings.device_memory >= 0, "Streamed: a size is negative");
  // Another process may take memory between the question and the allocation: ask for less, then give up. The first error
  // is thrown, as it has the numbers of all that may be held; later ones are about a part of it.
  std::exception_ptr first;
  for (double share = 1; lanes_.empty(); share /= 2) {
    try {
      build(cut, matrix, share);
    } catch (const Error& e) {
      lanes_.clear();
      if (e.code() != Errc::out_of_memory || settings.device_memory > 0) throw;
      if (!first) first = std::current_exception();
      if (share < kLeastShare) std::rethrow_exception(first);
    }
  }
}

bool StreamPlan::uses_gpus() const {
  const auto& devices = settings_.devices;
  return std::any_of(devices.begin(), devices.end(), [](Where where) { return where.is_gpu(); });
}

void StreamPlan::build(const Cut& cut, Shape matrix, double share) {
  const auto rooms = rooms_for(matrix, share);
  const auto shapes = fit(cut, matrix.bytes, rooms);
  require_fit(shapes, rooms);
  travels_first_ = shapes.back().kept_last;
  for (const auto& shape : shapes) {
    lanes_.push_back(std::make_unique<Lane>(list_, shape));
    poll_interrupt();
  }
  if (list_.has_pieces())
    cells_ = allocate<std::byte>(std::ssize(list_.blocks) * settings_.entry_bytes,
                                 {uses_gpus() ? Memory::pinned : Memory::host});
  for (const auto& a : lanes_)
    for (const auto& b : lanes_) enable_peer(a->where(), b->where());
}

/// What each device has room for, by order of `devices`. The CPU keeps nothing: its memory has the matrix already.
std::vector<GpuRoom> StreamPlan::rooms_for(Shape matrix, double share) const {
  const auto& s = settings_;
  std::vector<GpuRoom> rooms;
  for (const auto where : s.devices) {
    if (!where.is_gpu()) {
      rooms.push_back({.slot = s.slot_bytes > 0 ? s.slot_bytes : kHostLaneSlotBytes});
      continue;
    }
    rooms.push_back(gpu_room({.gpu = where.gpu,
                              .free_bytes = gpu_info(where.gpu).free_bytes,
                              .matrix_bytes = matrix.bytes,
                              .x_bytes = matrix.cols * s.entry_bytes,
                              .y_bytes = matrix.rows * s.entry_bytes,
                              .device_memory = s.device_memory,
                              .slot_bytes = s.slot_bytes,
                              .slots = s.slots,
                              .entry_bytes = s.entry_bytes,
                              .keep = s.keep,
                              .devices = std::ssize(s.devices),
                              .lanes = std::count(s.devices.begin(), s.devices.end(), where),
                              .share = share}));
  }
  return rooms;
}

/// Cuts the matrix into list_ so that every lane fits its room, as far as that can be, and says which blocks each keeps.
std::vector<LaneShape> StreamPlan::fit(const Cut& cut, std::int64_t matrix_bytes,
                                       std::span<const GpuRoom> rooms) {
  const auto slot = slot_for(rooms, matrix_bytes);
  std::vector<std::int64_t> kept;
  for (const auto& r : rooms) kept.push_back(r.kept);
  for (int round = 0;; ++round) {
    if (round == kLastRound) kept.assign(kept.size(), 0);
    const auto shares = shares_of(kept, matrix_bytes);
    list_ = cut(slot, shares);
    auto shapes = assign(shares);
    const bool everything_stays = shapes.back().kept_last == std::ssize(list_.blocks);
    bool fits = true, full = true;
    for (std::size_t g = 0; g < rooms.size(); ++g) {
      if (!settings_.devices[g].is_gpu()) continue;
      const auto usable = rooms[g].usable;
      const auto need = Lane::bytes_needed(list_, shapes[g]);
      if (need.total() > usable) fits = false;
      else if (everything_stays || kept[g] == 0 || is_full(need.total(), usable)) continue;
      else full = false;
      kept[g] = corrected(std::min(kept[g], shares[g]), need, usable, round);
    }
    if ((fits && (full || round >= kGrowingRounds)) || round == kLastRound) return shapes;
  }
}

/// Who keeps which blocks, and how large slots must be for the others.
std::vector<LaneShape> StreamPlan::assign(std::span<const std::int64_t> shares) const {
  const auto count = std::ssize(list_.blocks);
  std::vector<LaneShape> shapes;
  std::int64_t next = 0;
  for (std::size_t g = 0; g < shares.size(); ++g) {
    LaneShape shape{.where = settings_.devices[g], .kept_first = next, .travels_last = count};
    for (std::int64_t bytes = 0; next < count; ++next)
      if ((bytes += list_.bytes[at(next)]) > shares[g]) break;
    shape.kept_last = next;
    shapes.push_back(shape);
  }
  std::int64_t bytes = 0, rows = 0;  // of the largest block that travels
  for (auto i = next; i < count; ++i) {
    bytes = std::max(bytes, list_.bytes[at(i)]);
    rows = std::max(rows, list_.blocks[at(i)].rows);
  }
  for (auto& shape : shapes) {
    shape.slots = static_cast<int>(std::min<std::int64_t>(settings_.slots, count - next));
    shape.slot_bytes = bytes, shape.slot_rows = rows;
    shape.entry_bytes = settings_.entry_bytes, shape.bounce = settings_.bounce;
  }
  return shapes;
}

/// Throws where a lane would need more than its GPU has room for.
void StreamPlan::require_fit(std::span<const LaneShape> shapes, std::span<const GpuRoom> rooms) const {
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    const auto where = shapes[g].where;
    const auto need = Lane::bytes_needed(list_, shapes[g]).total();
    if (!where.is_gpu() || need <= rooms[g].usable) continue;
    throw Error(Errc::out_of_memory,
                "GPU " + std::to_string(where.gpu) + " may hold " + std::to_string(rooms[g].usable) +
                    " bytes; x and " + std::to_string(shapes[g].slots) + " slots of the largest block take " +
                    std::to_string(need) + ": allow more device_memory, smaller blocks or fewer slots");
  }
}

}  // namespace penstock
