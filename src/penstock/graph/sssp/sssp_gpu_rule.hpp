#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

// Decides how wide the windows of shortest paths on a GPU are, and which way each is relaxed, by functions of numbers alone.
namespace penstock {

// Graphs with a lower degree are sparse; the factors, halved, widen a window of a sparse and of any other graph.
inline constexpr double kSparseDegree = 8, kSparseFactor = 32, kWidthFactor = 2;

/// The width of a window. If it is the smallest weight, a window is final when it comes up, and every list is relaxed once:
/// R-MAT 25 with weights 8 to 72 and edges over the link takes 278 ms with a width of 8, and 1.00 relaxations an edge; in core
/// it takes 1.15 relaxations with 24. Narrower windows gain nothing. If weights begin near zero, the width falls with the
/// degree, as on the CPU (sssp_cpu.cpp). Sparse graphs such as roads take windows 16 times as wide, to have enough vertices at
/// once (Davidson et al. 2014 take 32 over the degree).
inline double choose_gpu_delta(double smallest, double largest, double mean, double degree) {
  if (!(largest > 0)) return 1;
  const double wide = degree < kSparseDegree ? kSparseFactor : kWidthFactor;
  const double delta = std::min(largest, 2 * mean) * wide / 2 / std::max(1.0, degree);
  const double width = std::max(smallest, delta);
  return std::isfinite(width) && width > 0 ? width : largest;
}

/// The cost of relaxing an edge whose id and weight are in device memory, over that of an edge that comes over the link: at
/// most two random reads of device memory, against 5 bytes at 50 GB/s. This ratio of memory and link is 0.2 to 0.5 on other
/// GPUs with PCIe. It decides between two ways with the same result.
inline constexpr double kNearEdgeCost = 0.3;
constexpr double path_cost(double edges, double link_edges) {
  return link_edges + kNearEdgeCost * (edges - link_edges);
}

/// The cost of a window that keeps a GPU busy for about as long as its launches and the look from the host take, which is 50 us; at
/// most one in kBusyShare of the graph's edges, as a list that is relaxed twice weighs more in a small graph.
inline constexpr double kBusyPathCost = 512 << 10, kBusyShare = 16;

/// The width of the next window, after one of `width` that cost so much. Where windows do not keep the GPU busy they grow up to
/// `widest`, for a few lists that are relaxed twice; after large ones they shrink to `least`. Counted by windows on a CPU, with
/// weights 8 to 72: a lift of a random geometric graph (degree 12, 266 M edges) takes 720 windows in place of 1133 and 1.05
/// relaxations an edge; lifts of a web and a social graph of 1 G edges 67 of 97 and 27 of 37, and 1.01.
constexpr double next_width(double width, double least, double widest, double cost, double all_edges) {
  const double busy = std::min(kBusyPathCost, all_edges / kBusyShare);
  if (cost < busy) return std::max(width, std::min(widest, width + width / 2));
  return cost > 2 * busy ? std::max(least, width / 2) : width;
}

/// Windows with a smaller share of the edges than one in kPullShare are pushed at once, because it would take longer to find
/// out what pulling costs.
inline constexpr std::int64_t kPullShare = 64;
constexpr bool may_pull(std::int64_t near_edges, std::int64_t all_edges) {
  return near_edges > all_edges / kPullShare;
}

/// The vertices and edges that the one-kernel mode has room for. In larger windows order and balance are worth the launches. A
/// window enters the mode with at most half of them, because it may grow.
inline constexpr std::int64_t kSmallNear = 64 << 10, kSmallFar = 1 << 20, kSmallPathEdges = 256 << 10;
inline constexpr std::int64_t kSmallDegree = 4 << 10;  // one warp walks a list

constexpr bool is_small_window(std::int64_t near, std::int64_t edges, std::int64_t pending) {
  return near <= kSmallNear / 2 && edges <= kSmallPathEdges / 2 && pending <= kSmallFar / 2;
}

}  // namespace penstock
