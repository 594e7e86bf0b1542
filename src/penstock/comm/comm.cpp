#include "penstock/comm/comm.hpp"

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

}  // namespace penstock
