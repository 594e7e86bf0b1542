#include "penstock/schedule/price.hpp"

#include <algorithm>

namespace penstock {

Price price(const Schedule& schedule, const Workload& work, std::int64_t device_memory, const Machine& m) {
  Price found;
  const auto total = work.matrix_bytes + work.x_bytes + work.y_bytes;
  // What takes less than half of the cache counts as cached. No measurement of this bound is recorded.
  const bool cached = total < m.cache_bytes / 2;
  const auto bandwidth = cached ? m.cache_read : m.host_read;
  const std::string memory = cached ? "host cache" : "host memory";
  const auto size = std::to_string(work.matrix_bytes) + " bytes of matrix";
  if (std::holds_alternative<Streamed>(schedule)) {
    found.uses.push_back({memory, total, bandwidth});
    // Each byte of the matrix is written to its slot and read from there.
    found.uses.push_back({"host cache (ring slots)", 2 * work.matrix_bytes, m.cache_read});
    found.reason = device_memory > 0 && work.matrix_bytes > device_memory
                       ? size + " exceed the device memory of " + std::to_string(device_memory)
                       : "asked for: each row block is copied into a slot and computed there";
  } else {
    found.uses.push_back({memory, total, bandwidth});
    found.reason =
        size + " in " + std::string(name(work.place.memory)) + " memory, which the CPU reads directly";
  }
  const auto slowest =
      std::max_element(found.uses.begin(), found.uses.end(),
                       [](const auto& a, const auto& b) { return a.seconds() < b.seconds(); });
  found.binding = static_cast<std::size_t>(slowest - found.uses.begin());
  return found;
}

}  // namespace penstock
