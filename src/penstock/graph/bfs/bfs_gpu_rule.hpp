#pragma once
#include <cstdint>

// Which way a level of a search on a GPU goes. Costs are in bytes of long lists that the link carries in the same time; in
// device memory everything is faster by about the same factor. Functions of numbers alone, for both sides of the link.
//
// They are ratios, which change less from one GPU to another than what they compare: device memory is 25 (T4) to 130 (B200)
// times as fast as the PCIe link of its time, 80 where these were measured. Twice or half as much moves levels that cost
// about the same either way; no result depends on it.
namespace penstock {

/// A request for 32 bytes of many lists in ascending order: 640 million a second where long reads run at 50 GB/s (H200).
inline constexpr double kSectorCost = 78;
/// How far apart the addresses of probes under way may lie: beyond, the translation of host addresses takes over (H200,
/// millions of requests a second within 256 MB, 1 GB, 4 GB: 640, 111, 48).
inline constexpr std::int64_t kReach = 256 << 20;
/// The part of all lists, in ascending order, that may be probed at once.
constexpr float reach_of(std::int64_t edges, bool in_core) {
  return in_core || edges * 4 <= kReach ? 1.0f : float(kReach) / (4.0f * float(edges));
}
/// A list's first and last lines hold entries of its neighbours.
inline constexpr double kListCost = 64;
/// Entries of cached lists, in device memory, for one over the link: 3 TB/s and 50 GB/s, less what their gathers share.
inline constexpr std::int64_t kCachedCost = 32;
/// Asking the sample of an unvisited vertex, 40 ps: 2 bytes' worth, and some room for levels where it helps little.
inline constexpr double kAskCost = 3;

/// The one-kernel mode takes frontiers up to here; beyond, order and balance are worth the launches. Edges of lists that
/// the sample does not hold: one warp may have to walk them all.
inline constexpr std::int64_t kSmallVertices = 64 << 10, kSmallEdges = 16 << 10;

constexpr bool is_small(std::int64_t vertices, std::int64_t long_edges) {
  return vertices <= kSmallVertices && long_edges <= kSmallEdges;
}

constexpr double down_cost(double vertices, double long_edges) {
  return 4 * long_edges + kListCost * (vertices < long_edges ? vertices : long_edges);
}

/// Whether samples are asked before anything is read: a top-down step would cost more.
constexpr bool asks_samples(double vertices, double long_edges, double unvisited) {
  return down_cost(vertices, long_edges) > kAskCost * unvisited;
}

/// Lists of `open` vertices, a sector at a time: an entry is in the frontier with the share of all edges that leave it.
constexpr double up_cost(double open, double frontier_edges, double all_edges, double mean_degree) {
  const double probes = frontier_edges * mean_degree < all_edges ? mean_degree : all_edges / frontier_edges;
  const double sectors = probes / 8;
  return open * kSectorCost * (sectors > 1 ? sectors : 1);
}

}  // namespace penstock
