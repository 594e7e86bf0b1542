#pragma once
#include <cstdint>

#include "penstock/schedule/slot.hpp"

// What fits the memory of one GPU. This is the one place that decides it: StreamPlan asks here before it cuts a matrix,
// GpuGraph takes its reserve from here, and Python asks the same functions before it predicts a product
// (bind/product/gpu_room.cpp). Nothing here looks at a GPU. Free bytes are an argument, so all of it is tested without one.
namespace penstock {

/// Bytes that stay free on a GPU where no budget is set: for scratch memory of kernels and for other processes.
inline constexpr std::int64_t kGpuReserve = 512 << 20;
/// Where no budget is set, so many vectors of x's size stay free as well: those of a solver live beside the plan.
inline constexpr std::int64_t kReservedVectors = 6;
/// Bytes that stay free even where the budget asks for more.
inline constexpr std::int64_t kGpuMargin = kGpuReserve / 8;
/// Allocations on a GPU begin at multiples of so many bytes.
inline constexpr std::int64_t kDeviceAlign = 256;
/// The slot of a lane that runs on the CPU: a piece of its cache. Of 32 KiB to 1 MiB, 128 and 256 KiB were the fastest in
/// rings of the CPU (streamed_blocks.cpp).
inline constexpr std::int64_t kHostLaneSlotBytes = 256 << 10;

/// The bytes of one slot where the caller leaves the choice: 1/64 of the matrix, but 1 MiB at least and 32 MiB at most.
std::int64_t natural_slot(std::int64_t matrix_bytes);

/// What a plan may hold on a GPU with `free_bytes` free. `device_memory` is the budget; 0 means all that is free, less the
/// reserve and room for vectors of `x_bytes`, but never less than half of what is free.
std::int64_t usable_bytes(std::int64_t free_bytes, std::int64_t device_memory, std::int64_t x_bytes);

/// The largest slot for which `left` bytes hold a ring and its rows of y. Where blocks may stay beside the ring, it takes half
/// of them (`parts` is 2), else all (1).
std::int64_t largest_slot(std::int64_t left, std::int64_t slots, std::int64_t entry_bytes,
                          std::int64_t parts);

/// `wanted` bytes of a slot, or less where all slots of the ring may take `ring_bytes` together. Throws
/// Error{invalid_argument} where that leaves less than kLeastSlotBytes.
std::int64_t slot_within_ring(std::int64_t ring_bytes, std::int64_t slots, std::int64_t wanted);

/// The memory of `slots` slots of the least size together with the rows of y that their blocks may have.
std::int64_t least_ring_bytes(std::int64_t slots, std::int64_t entry_bytes);

/// Whether x and the least ring exceed `usable` bytes, so that the matrix must be cut into ranges of columns.
bool needs_column_panels(std::int64_t x_bytes, std::int64_t usable, std::int64_t slots,
                         std::int64_t entry_bytes);

/// Bytes that blocks may take beyond the matrix's own: slots are aligned, and blocks that stay are chosen whole. `devices`
/// is how many devices keep blocks.
std::int64_t cut_slack(std::int64_t matrix_bytes, std::int64_t devices);

/// What is known of a plan and of one of its GPUs before the matrix is cut. Sizes are in bytes.
struct GpuRoomRequest {
  int gpu = 0;                  // for the message of an error
  std::int64_t free_bytes = 0;  // on that GPU, now
  std::int64_t matrix_bytes = 0, x_bytes = 0, y_bytes = 0;
  std::int64_t device_memory = 0;  // the budget; 0: what is free, less a reserve
  std::int64_t slot_bytes = 0;     // of one slot; 0: natural_slot
  std::int64_t slots = 3;
  std::int64_t entry_bytes = 8;  // of the vectors' entries
  bool keep = true;              // blocks that fit may stay on the GPU
  std::int64_t devices = 1;      // of the whole plan, the CPU included: each keeps its part of the matrix
  std::int64_t lanes = 1;        // of the plan on this GPU: each takes its part of the GPU's memory
  double share = 1;              // of the usable bytes to be used; less than 1 after an allocation has failed
};

/// How one lane uses its GPU's memory.
struct GpuRoom {
  std::int64_t usable = 0;  // bytes that the lane may hold in all
  std::int64_t slot = 0;    // bytes of one slot; 0 where there is no ring
  std::int64_t kept = 0;    // bytes of blocks that may stay, room for their rows of y apart
  bool ring = true;         // false: the lane keeps its part of the matrix, and nothing has to travel
};

/// Decides how a lane uses its GPU's memory. Throws Error{out_of_memory}, with the numbers, where x and the least ring do
/// not fit, and Error{invalid_argument} where `slot_bytes` is too small for a row.
GpuRoom gpu_room(const GpuRoomRequest& request);

}  // namespace penstock
