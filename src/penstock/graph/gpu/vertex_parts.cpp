#include "penstock/graph/gpu/vertex_parts.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {

std::vector<std::int64_t> cut_vertices(std::span<const Offset> offsets, int parts) {
  require(parts >= 1 && !offsets.empty(), "vertices are cut in 1 part or more, not " + std::to_string(parts) +
                                              ", by offsets of at least one entry");
  const auto n = std::ssize(offsets) - 1;
  // A vertex costs as much as an edge, because ranges without edges are work, too.
  const auto cost = [&](std::int64_t v) { return offsets[std::size_t(v)] - offsets[0] + v; };
  std::vector<std::int64_t> cuts{0};
  for (int p = 1; p < parts; ++p) {
    const auto target = static_cast<Offset>(static_cast<double>(cost(n)) * p / parts);
    std::int64_t low = 0, high = n;  // the first vertex with cost(v) >= target lies between them
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (cost(middle) < target) low = middle + 1;
      else high = middle;
    }
    const auto cut = (low + kPartVertices / 2) / kPartVertices * kPartVertices;
    if (cut > cuts.back() && cut < n) cuts.push_back(cut);
  }
  cuts.push_back(n);
  return cuts;
}

}  // namespace penstock
