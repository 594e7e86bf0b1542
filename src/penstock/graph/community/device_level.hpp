#pragma once
#include <cmath>
#include <cstdint>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/graph/community/moves.hpp"
#include "penstock/graph/gpu/gpu_lists.hpp"
#include "penstock/kernel/structure/steps.hpp"

// A level of the hierarchy in a device's memory, or with lists that it reads in place, and what threads do with it. Each of these
// functions is there twice: as kernels, and for the CPU as a device, with the same results number by number.
namespace penstock::community {

static_assert(kHubPiece % kPackedPiece == 0);

enum class WeightKind : std::uint8_t { none, real32, real64, units };

/// The lists of all vertices, and the weights of their entries at the same positions. Reals are rounded to multiples of 1 / factor, a
/// power of two, with which all weights of a graph add up to at most 2^53.
struct DeviceLists {
  ListView view;
  const void* weights = nullptr;
  WeightKind kind = WeightKind::none;
  double factor = 1;

  constexpr std::int64_t units(Offset at) const {
    switch (kind) {
      case WeightKind::none: return 1;
      case WeightKind::units: return static_cast<const std::int64_t*>(weights)[at];
      case WeightKind::real32:
        return static_cast<std::int64_t>(
            static_cast<double>(static_cast<const float*>(weights)[at]) * factor + 0.5);
      case WeightKind::real64:
        return static_cast<std::int64_t>(static_cast<const double*>(weights)[at] * factor + 0.5);
    }
    return 0;
  }
  constexpr Offset size_of(Index v) const {
    return view.offsets ? view.offsets[v + 1] - view.offsets[v] : packed_degree(view.packed, v);
  }
};

/// What a pass has counted.
struct PassCounts {
  static constexpr int kMostRounds = 64;
  std::int64_t moved[kMostRounds] = {};  // vertices, in each round
  std::int64_t gain = 0;                 // in units of 1 / kGainUnits
};

/// Vertices of a level as passes move them. Arrays have an entry a vertex; labels are vertices.
struct DeviceMoves {
  DeviceLists lists;
  std::int64_t vertices = 0;
  const std::int64_t* degree = nullptr;  // in units
  Index* labels = nullptr;
  std::int64_t* total = nullptr;    // the degrees of each community,
  std::int64_t* members = nullptr;  // and its vertices
  std::uint8_t* waiting = nullptr;  // whether to look at it
  Index* moved = nullptr;           // those that move in a round, in any order,
  Index* wanted = nullptr;          // and where to
  PassCounts* counts = nullptr;
  bool all = false;  // all vertices are looked at again in the next pass

  // Of a refinement: vertices that are alone, each named after itself, join parts of their own community.
  const Index* within = nullptr;            // the communities; null: no refinement
  const std::int64_t* community = nullptr;  // their degrees
  std::int64_t* outward = nullptr;  // of each part: the weight between it and the rest of its community

  /// Whether the edge from v to u counts.
  constexpr bool reaches(Index v, Index u) const { return u != v && (!within || within[u] == within[v]); }
  /// Of a part of a refinement (Traag, Waltman, van Eck 2019, Algorithm A.2). A part that is not empty has its own vertex.
  constexpr bool is_well_connected(const MoveRule& rule, Index part) const {
    const auto own = static_cast<double>(total[part]);
    const auto rest = static_cast<double>(community[within[part]]) - own;
    return static_cast<double>(outward[part]) >= rule.scale * own * rest;
  }
  constexpr bool looks_at(const MoveRule& rule, Index v) const {
    return waiting[v] != 0 && (!within || (members[labels[v]] == 1 && is_well_connected(rule, v)));
  }
  /// A vertex that is alone may leave in its round, so nobody joins it then: parts stay connected.
  constexpr bool may_join(const MoveRule& rule, const Looked& v, Index part) const {
    if (!within || part == v.own) return true;
    const bool may_leave = members[part] == 1 && round_of(part, rule) == round_of(v.vertex, rule);
    return !may_leave && is_well_connected(rule, part);
  }
  constexpr Candidate offer(const MoveRule& rule, const Looked& v, Index c, std::int64_t met) const {
    return may_join(rule, v, c) ? candidate(rule, v, c, met, total[c]) : Candidate{};
  }
  /// What `waiting` is of those that have joined a part in a round of this pass.
  static constexpr std::uint8_t joined_in(int round) { return static_cast<std::uint8_t>(2 + round); }
  /// What the edge from v, which has joined a part in this round, to u takes off the part's `outward`. Two that join it at once
  /// both see it.
  constexpr std::int64_t inward(int round, Index v, Index u, std::int64_t weight) const {
    if (!reaches(v, u) || labels[u] != labels[v]) return 0;
    return waiting[u] == joined_in(round) ? weight : 2 * weight;
  }
};

/// Vertices with long lists that one round looks at, and tables for them in global memory.
struct DeviceHubs {
  std::int64_t count = 0, pieces = 0, slots = 0;
  const Index* vertices = nullptr;
  const Offset* first_piece = nullptr;  // count + 1
  const Offset* table = nullptr;        // count + 1: where its slots begin; a power of two of them each
  Index* keys = nullptr;
  std::int64_t* sums = nullptr;
  std::uint8_t* moves = nullptr;  // whether it moves
};

/// The entries of some vertices, one behind the other, as keys (community, community of the other end) and weights.
struct EmitTo {
  const Index* order = nullptr;    // vertices
  const Offset* before = nullptr;  // entries before those of order[i]
  std::int64_t first = 0, last = 0;
  Offset begin = 0, end = 0;      // of the entries: those that are emitted
  const Index* labels = nullptr;  // without gaps
  int bits = 0;                   // of a community
  std::uint64_t* keys = nullptr;
  std::int64_t* weights = nullptr;
};
/// The key of an entry within a community, which comes last.
constexpr std::uint64_t no_key(int bits) { return (std::uint64_t{1} << 2 * bits) - 1; }
constexpr std::uint64_t key_of(Index from, Index to, int bits) {
  return static_cast<std::uint64_t>(from) << bits | static_cast<std::uint64_t>(to);
}

#define PENSTOCK_LEVEL_STEPS                                                                                \
  /* The weight of each vertex's edges, those to itself twice. */                                           \
  void add_degrees(const DeviceLists& lists, std::int64_t vertices, std::int64_t* degree, Stream stream);   \
  /* The weight of each vertex's edges to others of its community. */                                       \
  void add_inner(const DeviceLists& lists, std::int64_t vertices, const Index* within, std::int64_t* inner, \
                 Stream stream);                                                                            \
  /* Vertices of a class whose round it is choose where to go. */                                           \
  void look(const DeviceMoves& m, const MoveRule& rule, int round, const Index* some, std::int64_t count,   \
            int size_class, Stream stream);                                                                 \
  /* The same for long lists. */                                                                            \
  void look_at_hubs(const DeviceMoves& m, const MoveRule& rule, int round, const DeviceHubs& hubs,          \
                    Stream stream);                                                                         \
  /* Those that move do so; then their neighbours wait. In a refinement `outward` follows instead. */       \
  void commit(const DeviceMoves& m, int round, Stream stream);                                              \
  void wake(const DeviceMoves& m, int round, Stream stream);                                                \
  void wake_of_hubs(const DeviceMoves& m, int round, const DeviceHubs& hubs, Stream stream);                \
  void emit(const DeviceLists& lists, const EmitTo& to, Stream stream);
namespace on_cpu {
PENSTOCK_LEVEL_STEPS
}
namespace on_gpu {
PENSTOCK_LEVEL_STEPS
}
#undef PENSTOCK_LEVEL_STEPS

}  // namespace penstock::community
