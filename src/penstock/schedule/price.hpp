#pragma once
#include <string>
#include <vector>

#include "penstock/core/machine.hpp"
#include "penstock/schedule/schedule.hpp"

// What one product takes on the CPU, in core or through its caches: the bytes that cross each resource, and the seconds at
// the bandwidths measured on this machine. Nothing is chosen here: the planner is Python's package _plan, which asks for
// this price and decides.
namespace penstock {

/// What is known of a product: bytes, no values.
struct Workload {
  Place place;  // of the matrix
  std::int64_t matrix_bytes = 0;
  std::int64_t x_bytes = 0, y_bytes = 0;
};

/// One resource's part of a product: bytes that cross it, and how long that takes at the measured bandwidth.
struct ResourceUse {
  std::string resource;  // such as "host memory" or "host cache (ring slots)"
  std::int64_t bytes = 0;
  double bandwidth = 0;  // bytes per second
  double seconds() const { return bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0; }
};

/// What a product takes. `binding` is the entry of `uses` that takes longest; `reason` has the size in words.
struct Price {
  std::vector<ResourceUse> uses;
  std::string reason;
  std::size_t binding = 0;
  double seconds() const { return uses.empty() ? 0 : uses[binding].seconds(); }
};

/// The price of one product. `device_memory`: what the user allows a device to hold, 0 for no limit; for the reason alone.
Price price(const Schedule& schedule, const Workload& work, std::int64_t device_memory,
            const Machine& machine);

}  // namespace penstock
