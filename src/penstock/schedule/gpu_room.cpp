#include "penstock/schedule/gpu_room.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
// A matrix that travels is cut into about so many blocks: the first block's way in and the last one's kernel are then a few
// per cent of the whole. Slots of 16, 32 and 64 MiB were within 2 % of each other on an H200 (R-MAT 24 and 26, raw and packed).
constexpr std::int64_t kNaturalBlocks = 64;
constexpr std::int64_t kLeastNaturalSlot = kMiB, kMostNaturalSlot = 32 * kMiB;
// The slack of a cut: one part in so many of the matrix, and so many bytes more a device. No measurement is recorded.
constexpr std::int64_t kSlackPart = 64;
constexpr std::int64_t kSlackBytes = kMiB / 16;
// For the alignment of x, ring and cells, where panels are asked for.
constexpr std::int64_t kPanelMargin = 4096;
// Besides two arrays a slot (the block and its rows of y) a lane allocates x, the cells of pieces, what it keeps and its y.
constexpr std::int64_t kArraysASlot = 2, kOtherArrays = 4;

/// A row takes at least its offset, 8 bytes, of a slot; its entry of y takes entry_bytes beside it. `n` bytes of slots can
/// therefore need n * with_y / sizeof(Offset) bytes of memory.
constexpr std::int64_t with_y(std::int64_t entry_bytes) { return std::int64_t(sizeof(Offset)) + entry_bytes; }

}  // namespace

std::int64_t natural_slot(std::int64_t matrix_bytes) {
  return std::clamp<std::int64_t>(matrix_bytes / kNaturalBlocks, kLeastNaturalSlot, kMostNaturalSlot);
}

std::int64_t usable_bytes(std::int64_t free_bytes, std::int64_t device_memory, std::int64_t x_bytes) {
  const auto others = kGpuReserve + kReservedVectors * x_bytes;
  const auto wanted = device_memory > 0 ? device_memory : std::max(free_bytes - others, free_bytes / 2);
  return std::min(wanted, std::max<std::int64_t>(free_bytes - kGpuMargin, 0));
}

std::int64_t largest_slot(std::int64_t left, std::int64_t slots, std::int64_t entry_bytes,
                          std::int64_t parts) {
  const auto slot = left / parts / slots * std::int64_t(sizeof(Offset)) / with_y(entry_bytes);
  return slot / kSlotAlign * kSlotAlign;
}

std::int64_t slot_within_ring(std::int64_t ring_bytes, std::int64_t slots, std::int64_t wanted) {
  const auto slot = std::min(wanted, ring_bytes / slots / kSlotAlign * kSlotAlign);
  require(slot >= kLeastSlotBytes, "Streamed: a ring of " + std::to_string(ring_bytes) +
                                       " bytes does not hold " + std::to_string(slots) + " slots of " +
                                       std::to_string(kLeastSlotBytes) +
                                       " bytes: allow more bytes, or use fewer slots");
  return slot;
}

std::int64_t least_ring_bytes(std::int64_t slots, std::int64_t entry_bytes) {
  return slots * kLeastSlotBytes * with_y(entry_bytes) / std::int64_t(sizeof(Offset));
}

bool needs_column_panels(std::int64_t x_bytes, std::int64_t usable, std::int64_t slots,
                         std::int64_t entry_bytes) {
  return x_bytes + least_ring_bytes(slots, entry_bytes) + kPanelMargin > usable;
}

std::int64_t cut_slack(std::int64_t matrix_bytes, std::int64_t devices) {
  return matrix_bytes / kSlackPart + devices * kSlackBytes;
}

GpuRoom gpu_room(const GpuRoomRequest& r) {
  require(r.slot_bytes == 0 || r.slot_bytes >= kLeastSlotBytes,
          "Streamed: a block of " + std::to_string(r.slot_bytes) +
              " bytes holds no row on a GPU: give at least " + std::to_string(kLeastSlotBytes));
  const auto x_bytes = round_up(r.x_bytes, kDeviceAlign);
  const auto usable = usable_bytes(r.free_bytes, r.device_memory, x_bytes);
  GpuRoom room;
  room.usable = static_cast<std::int64_t>(static_cast<double>(usable) * r.share) / r.lanes;
  const auto left = room.usable - x_bytes - kDeviceAlign * (kArraysASlot * r.slots + kOtherArrays);

  // Of so many bytes, a part is for the rows of y that belong to the blocks: as large as it is on the average.
  const double y_share = double(r.y_bytes) / double(std::max<std::int64_t>(r.matrix_bytes, 1));
  const auto of_matrix = [&](std::int64_t bytes) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(double(bytes) / (1 + y_share)), 0);
  };
  if (r.keep && of_matrix(left) >= r.matrix_bytes / r.devices + cut_slack(r.matrix_bytes, 1)) {
    room.ring = false, room.kept = of_matrix(left);
    return room;
  }
  // A ring takes half of what is left at most, where blocks may stay and the caller has not chosen the slot.
  const auto most = largest_slot(left, r.slots, r.entry_bytes, r.keep && r.slot_bytes == 0 ? 2 : 1);
  room.slot = std::min(r.slot_bytes > 0 ? r.slot_bytes : natural_slot(r.matrix_bytes), most);
  if (room.slot < kLeastSlotBytes)
    throw Error(Errc::out_of_memory,
                "GPU " + std::to_string(r.gpu) + " may hold " + std::to_string(room.usable) +
                    " bytes, x takes " + std::to_string(x_bytes) + " of them, and " +
                    std::to_string(r.slots) + " slots need at least " +
                    std::to_string(least_ring_bytes(r.slots, r.entry_bytes)) +
                    ": allow more device_memory, use fewer slots, or cut the matrix into ranges of columns");
  if (r.keep) room.kept = of_matrix(left - r.slots * room.slot);
  return room;
}

}  // namespace penstock
