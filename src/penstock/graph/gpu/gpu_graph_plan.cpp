// Decides from sizes alone where the parts of a graph are kept. It needs no GPU.
#include "penstock/graph/gpu/gpu_graph.hpp"

#include <algorithm>

namespace penstock {

std::int64_t graph_budget(std::int64_t device_memory, std::int64_t free_bytes) {
  return device_memory > 0 ? device_memory : std::max<std::int64_t>(0, free_bytes - kGpuReserve);
}

EdgePlacement choose_placement(std::int64_t vertices, std::int64_t edges, std::int64_t budget,
                               std::int64_t packed_bytes) {
  constexpr std::int64_t kSampleBytes = 16;  // of a sample of 4 slots
  const auto wanted = 8 * (vertices + 1) + 4 * edges + (kSampleBytes + kVertexBytes) * vertices;
  if (wanted <= budget) return EdgePlacement::device;
  const bool packs = packed_bytes > 0 && packed_bytes + kVertexBytes * vertices + kPackedRoom <= budget;
  return packs ? EdgePlacement::packed : EdgePlacement::pinned;
}

int choose_sample(std::int64_t vertices, std::int64_t left, int wanted) {
  for (int size = wanted; size >= 4; size /= 2)
    if (vertices * (4 * size + kVertexBytes) <= left) return size;
  return 0;
}

}  // namespace penstock
