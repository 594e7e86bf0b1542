#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

// How a vertex that is looked at on a device chooses a community: constexpr text that the CPU and nvcc both compile. Weights are
// whole numbers there, so that no sum depends on the order in which threads add it up.
namespace penstock::community {

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): a number for each (seed, i).
constexpr std::uint64_t drawn(std::uint64_t seed, std::uint64_t i) {
  auto x = seed * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// What a pass over the vertices follows.
struct MoveRule {
  bool propagates = false;  // takes the heaviest label; otherwise, the community where modularity grows most
  double scale = 0;         // the resolution over the weight of all edges, counted from both ends
  std::uint64_t seed = 0;   // of the pass
  int rounds = 1;           // each looks at the vertices that the seed gives it, all of them at once
};

constexpr int round_of(Index v, const MoveRule& rule) {
  const auto some = drawn(rule.seed, static_cast<std::uint64_t>(v)) >> 32;
  return static_cast<int>(some * static_cast<std::uint64_t>(rule.rounds) >> 32);
}

/// A community in reach of a vertex, and what it is worth there.
struct Candidate {
  double worth = 0;
  std::uint64_t lot = 0;  // of equals the smallest one; 0 is the vertex's own community
  Index to = -1;          // -1: none
};
constexpr bool is_better(const Candidate& a, const Candidate& b) {
  if (a.to < 0 || b.to < 0) return a.to >= 0 && b.to < 0;
  if (a.worth != b.worth) return a.worth > b.worth;
  return a.lot != b.lot ? a.lot < b.lot : a.to < b.to;
}

/// A vertex that is looked at.
struct Looked {
  Index vertex, own;
  std::int64_t degree;
};

/// Community c, which edges of weight `met` join to the vertex, and whose degrees add up to `total`.
constexpr Candidate candidate(const MoveRule& rule, const Looked& v, Index c, std::int64_t met,
                              std::int64_t total) {
  const bool stays = c == v.own;
  if (met == 0 && !stays) return {};
  if (rule.propagates) {
    const auto lot = drawn(rule.seed ^ static_cast<std::uint64_t>(v.vertex), static_cast<std::uint64_t>(c));
    return {static_cast<double>(met), stays ? 0 : lot | 1, c};
  }
  const double price = rule.scale * static_cast<double>(v.degree);
  const double paid = price * static_cast<double>(total - (stays ? v.degree : 0));
  return {static_cast<double>(met) - paid, stays ? 0u : 1u, c};
}

/// Whether two vertices that are alone may want each other's places: only the one with the larger label moves. `to` is named after
/// the vertex that is in it, or was.
constexpr bool may_swap(const MoveRule& rule, const Looked& v, Index to, std::int64_t own_count,
                        std::int64_t to_count) {
  return !rule.propagates && own_count == 1 && to_count == 1 && to > v.own &&
         round_of(to, rule) == round_of(v.vertex, rule);
}

/// Gains are added up as multiples of 1 / kGainUnits.
inline constexpr double kGainUnits = 16;
constexpr std::int64_t gain_units(double gain) { return static_cast<std::int64_t>(gain * kGainUnits + 0.5); }

// A hash table of communities, with open addresses. Keys are -1 where a slot is free.
inline constexpr int kLeastLog = 5;
constexpr std::uint32_t home_of(Index c, int log_slots) {
  return static_cast<std::uint32_t>(c) * 0x9e3779b1u >> (32 - log_slots);
}
/// Slots for the communities around a vertex with so many edges, and for its own: two thirds are taken at most.
constexpr int log_slots_for(std::int64_t edges) {
  const auto slots = static_cast<std::uint64_t>(edges + 1) * 3 / 2;
  int log = kLeastLog;  // by steps: std::bit_width of 64 bits is wrong in kernels of nvcc 13.0
  while ((std::uint64_t{1} << log) < slots) ++log;
  return log;
}

// Vertices by their degrees: a warp with a small table, a warp with a larger one, a block; tables in global memory.
inline constexpr int kClasses = 4;
/// A function, since kernels do not see arrays of the host.
constexpr int most_log_slots(int size_class) { return size_class == 0 ? 6 : size_class == 1 ? 8 : 11; }
constexpr int class_of(std::int64_t edges) {
  const int log = log_slots_for(edges);
  int c = 0;
  while (c < kClasses - 1 && log > most_log_slots(c)) ++c;
  return c;
}
/// Entries of a long list that a warp takes at a time: whole pieces of packed lists.
inline constexpr std::int64_t kHubPiece = 1024;
constexpr std::int64_t hub_pieces(std::int64_t edges) { return (edges + kHubPiece - 1) / kHubPiece; }

}  // namespace penstock::community
