#pragma once
#include <string>
#include <vector>

#include "penstock/core/machine.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock {

/// What the planner knows of a product: bytes, no values.
struct Workload {
  Place place;  // of the matrix
  std::int64_t matrix_bytes = 0;
  std::int64_t x_bytes = 0, y_bytes = 0;
};

/// What the user allows.
struct Limits {
  // Bytes that a device may hold: a larger matrix is streamed. 0: no limit. Here the CPU is the device; it computes on
  // the caller's own x and y, so its rings may take all of it.
  std::int64_t device_memory = 0;
};

/// One resource's part of a product: bytes that cross it, and how long that takes at the measured bandwidth.
struct ResourceUse {
  std::string resource;  // such as "host memory" or "host cache (ring slots)"
  std::int64_t bytes = 0;
  double bandwidth = 0;  // bytes per second
  double seconds() const { return bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0; }
};

/// A schedule with its price. `binding` is the entry of `uses` that takes longest.
struct Plan {
  Schedule schedule;
  std::vector<ResourceUse> uses;
  std::string reason;
  std::size_t binding = 0;
  double seconds() const { return uses.empty() ? 0 : uses[binding].seconds(); }
};

/// The schedule for one product: in core where the matrix fits the device memory allowed, streamed otherwise.
/// Choosing needs no measurement; `price` adds the predicted bytes and seconds.
Schedule choose(const Workload& work, const Limits& limits);
Plan price(const Schedule& schedule, const Workload& work, const Limits& limits, const Machine& machine);

}  // namespace penstock
