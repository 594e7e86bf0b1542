#pragma once
#include <cstdint>
#include <span>

#include "penstock/schedule/schedule.hpp"

// How many columns of X and Y a GPU takes at once, where it cannot hold them all.
namespace penstock {

/// Columns of a chunk: as many as `free_bytes` hold beside `other_bytes`, whole panels of 32 where it can be, at least one.
std::int64_t chunk_columns(std::int64_t columns, std::int64_t bytes_per_column, std::int64_t free_bytes,
                           std::int64_t other_bytes);

/// The same within a budget. Throws Error{out_of_memory} where it does not hold one column.
std::int64_t chunk_columns_within(std::int64_t device_memory, std::int64_t columns,
                                  std::int64_t bytes_per_column, std::int64_t other_bytes);

/// How often a device is named: so many lanes share its memory.
std::int64_t lanes_on(std::span<const Where> devices, Where where);

/// The settings within a budget of `device_memory` bytes (0: no budget): half of it is for rings, the rest for X, Y and
/// scratch.
Streamed rings_within(Streamed settings, std::int64_t device_memory);

}  // namespace penstock
