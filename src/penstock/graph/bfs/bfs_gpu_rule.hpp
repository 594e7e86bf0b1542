#pragma once
#include <cstdint>

// Decides in which direction a level of a search on a GPU goes, by functions of numbers alone, for host and device. The unit
// of costs is a byte of a long list over the link; if the edges are in device memory, everything is faster by about the same
// factor.
//
// Costs are ratios, which change less from one GPU to another than the speeds that they compare: device memory is 25 (T4) to
// 130 (B200) times as fast as the PCIe link of its time, and 80 times where these were measured. A ratio that is wrong by a
// factor of two changes the direction of levels that cost about the same either way; no result depends on it.
namespace penstock {

/// A request for 32 bytes, of many lists in ascending order: 640 million of them a second, where long reads run at 50 GB/s
/// (H200).
inline constexpr double kSectorCost = 78;
/// How far apart the addresses of concurrent probes may lie. If they are farther apart, the translation of host addresses is
/// the limit (H200, millions of requests a second within 256 MB, 1 GB, 4 GB: 640, 111, 48).
inline constexpr std::int64_t kReach = 256 << 20;
/// The share of all lists, in ascending order, that may be probed at once.
constexpr float reach_of(std::int64_t edges, bool in_core) {
  return in_core || edges * 4 <= kReach ? 1.0f : float(kReach) / (4.0f * float(edges));
}
/// What each list costs besides its entries, because its first and last lines also hold entries of other lists.
inline constexpr double kListCost = 64;
/// How many entries of cached lists, in device memory, cost as much as one over the link: by 3 TB/s and 50 GB/s, and less
/// because both have the same gathers.
inline constexpr std::int64_t kCachedCost = 32;
/// Asking the sample of an unvisited vertex. It takes 40 ps, which is the time of 2 bytes; the rest is for levels where it
/// helps little.
inline constexpr double kAskCost = 3;

/// The largest frontiers that the one-kernel mode takes; for larger ones order and balance are worth the launches. Edges are
/// those of lists that the sample does not hold; one warp may have to walk all of them.
inline constexpr std::int64_t kSmallVertices = 64 << 10, kSmallEdges = 16 << 10;

constexpr bool is_small(std::int64_t vertices, std::int64_t long_edges) {
  return vertices <= kSmallVertices && long_edges <= kSmallEdges;
}

/// The cost of a top-down step from `vertices` vertices with `long_edges` edges in lists that the sample does not hold.
constexpr double down_cost(double vertices, double long_edges) {
  return 4 * long_edges + kListCost * (vertices < long_edges ? vertices : long_edges);
}

/// Whether samples are asked before anything is read, because a top-down step would cost more.
constexpr bool asks_samples(double vertices, double long_edges, double unvisited) {
  return down_cost(vertices, long_edges) > kAskCost * unvisited;
}

/// The cost of reading the lists of `open` vertices, a sector at a time, up to the first entry in the frontier. An entry is in
/// the frontier with a probability that is the share of all edges that leave the frontier.
constexpr double up_cost(double open, double frontier_edges, double all_edges, double mean_degree) {
  constexpr double kEntriesOfSector = 8;
  const double probes = frontier_edges * mean_degree < all_edges ? mean_degree : all_edges / frontier_edges;
  const double sectors = probes / kEntriesOfSector;
  return open * kSectorCost * (sectors > 1 ? sectors : 1);
}

}  // namespace penstock
