#pragma once
#include <cstdint>

namespace penstock {

/// What a generator draws. row < 0: there is no edge, because a self loop was dropped.
struct Edge {
  std::int64_t row, column;
};

}  // namespace penstock
