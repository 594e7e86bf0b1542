// What of a graph goes where, by sizes alone: needs no GPU.
#include "penstock/graph/gpu/gpu_graph.hpp"

#include <algorithm>

namespace penstock {

std::int64_t graph_budget(std::int64_t device_memory, std::int64_t free_bytes) {
  return device_memory > 0 ? device_memory : std::max<std::int64_t>(0, free_bytes - kGpuReserve);
}

EdgePlacement choose_placement(std::int64_t vertices, std::int64_t edges, std::int64_t budget) {
  const auto wanted = 8 * (vertices + 1) + 4 * edges + (16 + kVertexBytes) * vertices;
  return wanted <= budget ? EdgePlacement::device : EdgePlacement::pinned;
}

int choose_sample(std::int64_t vertices, std::int64_t left, int wanted) {
  for (int size = wanted; size >= 4; size /= 2)
    if (vertices * (4 * size + kVertexBytes) <= left) return size;
  return 0;
}

}  // namespace penstock
