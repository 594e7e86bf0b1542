#include "penstock/comm/comm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "penstock/core/error.hpp"

namespace penstock {

double default_timeout() {
  constexpr double kSeconds = 300;
  const char* text = std::getenv("PENSTOCK_COMM_TIMEOUT");
  if (!text || !*text) return kSeconds;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  require(*end == '\0' && seconds > 0 && std::isfinite(seconds),
          "PENSTOCK_COMM_TIMEOUT=" + std::string(text) + " is not a positive number of seconds");
  return seconds;
}

bool in_a_row(std::span<const std::int32_t> indices) {
  const auto apart = [](std::int32_t a, std::int32_t b) { return b - std::int64_t{1} != a; };
  return std::adjacent_find(indices.begin(), indices.end(), apart) == indices.end();
}

}  // namespace penstock
