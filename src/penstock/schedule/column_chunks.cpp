#include "penstock/schedule/column_chunks.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

// Chunks are whole panels where they can be: a kernel reads a row of X in panels (kernel/spmm).
constexpr std::int64_t kPanelColumns = 32;
// Without a budget, a tenth of what is free is left to others. No measurement is recorded.
constexpr std::int64_t kUsedTenths = 9;

std::int64_t whole_panels(std::int64_t fit, std::int64_t columns) {
  return fit < columns && fit >= kPanelColumns ? fit / kPanelColumns * kPanelColumns : fit;
}

}  // namespace

std::int64_t chunk_columns(std::int64_t columns, std::int64_t bytes_per_column, std::int64_t free_bytes,
                           std::int64_t other_bytes) {
  const auto left = free_bytes / 10 * kUsedTenths - other_bytes;
  const auto fit = std::clamp<std::int64_t>(left / std::max<std::int64_t>(bytes_per_column, 1), 1, columns);
  return whole_panels(fit, columns);
}

std::int64_t chunk_columns_within(std::int64_t device_memory, std::int64_t columns,
                                  std::int64_t bytes_per_column, std::int64_t other_bytes) {
  const auto left = device_memory - other_bytes;
  if (left < bytes_per_column)
    throw Error(Errc::out_of_memory,
                "a GPU may hold " + std::to_string(device_memory) + " bytes; a column of X and Y takes " +
                    std::to_string(bytes_per_column) + ", rings and scratch " + std::to_string(other_bytes) +
                    ": allow more device_memory, or multiply a column at a time");
  return whole_panels(std::min(left / std::max<std::int64_t>(bytes_per_column, 1), columns), columns);
}

std::int64_t lanes_on(std::span<const Where> devices, Where where) {
  return std::count(devices.begin(), devices.end(), where);
}

Streamed rings_within(Streamed settings, std::int64_t device_memory) {
  if (device_memory == 0) return settings;
  std::int64_t lanes = 1;
  for (const auto where : settings.devices) lanes = std::max(lanes, lanes_on(settings.devices, where));
  const auto half = device_memory / lanes / 2;
  settings.ring_bytes = settings.ring_bytes > 0 ? std::min(settings.ring_bytes, half) : half;
  return settings;
}

}  // namespace penstock
