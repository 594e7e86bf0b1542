#include "penstock/io/generate/generate_check.hpp"

#include <limits>
#include <sstream>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/machine.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

void require_between(std::string_view name, double value, double low, double high, std::string_view why) {
  if (value >= low && value <= high) return;
  std::ostringstream text;
  text << name << " = " << value << " is not between " << low << " and " << high << ": " << why;
  throw Error(Errc::invalid_argument, text.str());
}

void require_extent(std::string_view name, std::int64_t n) {
  constexpr std::int64_t kMax = std::numeric_limits<Index>::max();
  require(n >= 1 && n <= kMax,
          std::string(name) + " = " + std::to_string(n) +
              " is not between 1 and 2^31 - 1: column indices have 32 bits; generate it in parts");
}

void require_memory(std::string_view what, std::int64_t rows, std::int64_t entries,
                    std::int64_t value_bytes) {
  constexpr double kRowBytes = 8.0;  // an offset
  // A column of 4 bytes, and 2 for the row within its bucket (format/assemble.hpp).
  constexpr double kEntryBytes = 6.0;
  const auto needed = kRowBytes * static_cast<double>(rows) +
                      (kEntryBytes + static_cast<double>(value_bytes)) * static_cast<double>(entries);
  require_bytes(what, needed, "rows or entries");
}

void require_bytes(std::string_view what, double bytes, std::string_view fewer) {
  const auto free = probe_topology().available_bytes;
  if (free <= 0 || bytes <= static_cast<double>(free)) return;
  std::ostringstream text;
  text.precision(3);
  text << what << " needs " << bytes / 1e9 << " GB and " << static_cast<double>(free) / 1e9
       << " GB are free: ask for fewer " << fewer;
  throw Error(Errc::out_of_memory, text.str());
}

}  // namespace penstock
