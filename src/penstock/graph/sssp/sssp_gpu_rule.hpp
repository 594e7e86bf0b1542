#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

// How wide the windows of shortest paths on a GPU are, and which way each is relaxed. Functions of numbers alone.
namespace penstock {

/// A window of the smallest weight is final when it comes up, and every list is relaxed once: R-MAT 25, weights 8 to 72,
/// edges over the link: 278 ms with 8, 1.00 relaxations an edge; in core 1.15 relaxations with 24. Narrower than that gains
/// nothing. Where weights begin near zero, the width falls with the degree, as on the CPU (sssp_cpu.cpp); sparse graphs
/// such as roads take windows 16 times as wide, for vertices enough at once (Davidson et al. 2014 take 32 over the degree).
inline double choose_gpu_delta(double smallest, double largest, double mean, double degree) {
  if (!(largest > 0)) return 1;
  const double wide = degree < 8 ? 32 : 2;
  const double delta = std::min(largest, 2 * mean) * wide / 2 / std::max(1.0, degree);
  const double width = std::max(smallest, delta);
  return std::isfinite(width) && width > 0 ? width : largest;
}

/// Relaxing an edge whose id and weight are in device memory, in units of one that comes over the link: 5 bytes at
/// 50 GB/s, against two random reads of device memory at most. A ratio of memory and link, which is 0.2 to 0.5 on other GPUs
/// with PCIe, and decides between ways that give the same result.
inline constexpr double kNearEdgeCost = 0.3;
constexpr double path_cost(double edges, double link_edges) {
  return link_edges + kNearEdgeCost * (edges - link_edges);
}

/// Windows with fewer edges are pushed at once: it takes longer to find out what pulling would cost.
constexpr bool may_pull(std::int64_t near_edges, std::int64_t all_edges) {
  return near_edges > all_edges / 64;
}

/// What the one-kernel mode takes: beyond, order and balance are worth the launches.
inline constexpr std::int64_t kSmallNear = 64 << 10, kSmallFar = 1 << 20, kSmallPathEdges = 256 << 10;
inline constexpr std::int64_t kSmallDegree = 4 << 10;  // one warp walks a list

constexpr bool is_small_window(std::int64_t near, std::int64_t edges, std::int64_t pending) {
  return near <= kSmallNear / 2 && edges <= kSmallPathEdges / 2 && pending <= kSmallFar / 2;
}

}  // namespace penstock
