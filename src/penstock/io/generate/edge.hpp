#pragma once
#include <cstdint>

namespace penstock {

/// What a generator draws; row < 0: nothing, a self loop that was dropped.
struct Edge {
  std::int64_t row, column;
};

}  // namespace penstock
