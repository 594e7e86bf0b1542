#include "penstock/schedule/planner.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock {

Schedule choose(const Workload& work, const Limits& limits) {
  require(limits.device_memory >= 0,
          "device_memory = " + std::to_string(limits.device_memory) + " is negative");
  if (limits.device_memory > 0 && work.matrix_bytes > limits.device_memory)
    return Streamed{.ring_bytes = limits.device_memory};
  return InCore{};
}

Plan price(const Schedule& schedule, const Workload& work, const Limits& limits, const Machine& m) {
  Plan plan{.schedule = schedule, .uses = {}, .reason = {}};
  const auto total = work.matrix_bytes + work.x_bytes + work.y_bytes;
  // What takes less than half of the cache counts as cached. No measurement of this bound is recorded.
  const bool cached = total < m.cache_bytes / 2;
  const auto bandwidth = cached ? m.cache_read : m.host_read;
  const std::string memory = cached ? "host cache" : "host memory";
  const auto size = std::to_string(work.matrix_bytes) + " bytes of matrix";
  if (std::holds_alternative<Streamed>(schedule)) {
    plan.uses.push_back({memory, total, bandwidth});
    // Each byte of the matrix is written to its slot and read from there.
    plan.uses.push_back({"host cache (ring slots)", 2 * work.matrix_bytes, m.cache_read});
    plan.reason = limits.device_memory > 0 && work.matrix_bytes > limits.device_memory
                      ? size + " exceed the device memory of " + std::to_string(limits.device_memory)
                      : "asked for: each row block is copied into a slot and computed there";
  } else {
    plan.uses.push_back({memory, total, bandwidth});
    plan.reason =
        size + " in " + std::string(name(work.place.memory)) + " memory, which the CPU reads directly";
  }
  const auto slowest = std::max_element(plan.uses.begin(), plan.uses.end(), [](const auto& a, const auto& b) {
    return a.seconds() < b.seconds();
  });
  plan.binding = static_cast<std::size_t>(slowest - plan.uses.begin());
  return plan;
}

}  // namespace penstock
