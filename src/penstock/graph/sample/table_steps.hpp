#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/graph/sample/draws.hpp"
#include "penstock/io/random.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"

// The steps that number vertices and draw edges on a device, which the CPU and nvcc compile.
namespace penstock::graph {

/// A table of open addresses, as that of vertex_table.cpp. `value` is the smallest position of the key.
struct TableSlot {
  std::int64_t key, value;
};
struct TableSlots {
  static constexpr std::int64_t kFree = -1, kNoValue = 0x7fffffffffffffff;
  TableSlot* slots;
  std::int64_t mask;      // their number, a power of two, less one
  std::int64_t universe;  // vertices

  constexpr std::int64_t key(std::int64_t vertex, std::int64_t seed) const {
    return seed * universe + vertex;
  }
  /// Leaves the smallest value in the key's slot, and returns that.
  template <class Atomics>
  constexpr std::int64_t insert(std::int64_t key, std::int64_t value) const {
    auto at = static_cast<std::int64_t>(mix64(static_cast<std::uint64_t>(key))) & mask;
    for (;; at = (at + 1) & mask) {
      auto there = Atomics::load(slots[at].key);
      if (there == kFree) {
        there = Atomics::exchange(slots[at].key, kFree, key);
        if (there == kFree) there = key;
      }
      if (there != key) continue;
      Atomics::least(slots[at].value, value);
      return at;
    }
  }
};

struct FreeSlots {
  TableSlot* slots;
  constexpr void operator()(std::int64_t i) const { slots[i] = {TableSlots::kFree, TableSlots::kNoValue}; }
};

/// Puts vertices into the table that stand at `base` and behind it. Without `seeds` all belong to one.
template <class Atomics>
struct InsertVertices {
  TableSlots table;
  const std::int64_t *vertices, *seeds;
  std::int64_t base;
  constexpr void operator()(std::int64_t i) const {
    const auto at = base + i;
    table.insert<Atomics>(table.key(vertices[at], seeds ? seeds[at] : 0), at);
  }
};

/// What is drawn of the vertices of a hop, whose first one has the number `first`.
struct HopRows {
  const std::int64_t *vertices, *seeds;  // from the first of the hop on; no vertices: row i has list i
  std::int64_t first, rows;
  const Offset* indptr;
  std::int64_t fanout;
  bool replace;
  std::uint64_t seed, relation;
  bool all_given = false;  // what is drawn is known already

  constexpr std::int64_t list_of(std::int64_t row) const { return vertices ? vertices[row] : row; }
  constexpr Offset begin(std::int64_t row) const { return indptr[list_of(row)]; }
  constexpr std::int64_t degree(std::int64_t row) const {
    return indptr[list_of(row) + 1] - indptr[list_of(row)];
  }
  /// Whether all edges are drawn, in order.
  constexpr bool takes_all(std::int64_t degree) const { return fanout < 0 || (!replace && fanout >= degree); }
};

/// How many edges are drawn of each vertex, and 0 behind the last.
struct CountDrawn {
  HopRows hop;
  Offset* out;
  constexpr void operator()(std::int64_t i) const {
    out[i] = i < hop.rows ? drawn_of(hop.degree(i), hop.fanout, hop.replace) : 0;
  }
};

/// Draws the edges of one vertex after the other, but for those that give all of theirs. Above kDrawnScanned, what is taken
/// of vertex i is kept in a table of twice as many free places (-1) as it draws, from `taken` + 2 starts[i] on.
struct DrawEdges {
  static constexpr int kDrawnScanned = 48;
  HopRows hop;
  const Offset* starts;
  std::int64_t* taken;
  std::int64_t* edges;

  constexpr void operator()(std::int64_t i) const {
    const auto n = hop.degree(i);
    if (hop.takes_all(n)) return;
    const auto k = starts[i + 1] - starts[i];
    const auto begin = hop.begin(i);
    const auto random = draws_of(hop.seed, hop.relation, hop.first + i);
    auto* const out = edges + starts[i];
    if (hop.replace) {
      for (std::int64_t d = 0; d < k; ++d) out[d] = begin + draw_again(n, d, random);
    } else if (k <= kDrawnScanned) {
      std::int64_t chosen[kDrawnScanned] = {};
      int count = 0;
      draw_subset(
          n, k, random,
          [&](std::int64_t j) {
            bool found = false;
            for (int c = 0; c < count; ++c) found |= chosen[c] == j;
            return found;
          },
          [&](std::int64_t j) {
            out[count] = begin + j;
            chosen[count++] = j;
          });
    } else {
      auto* const table = taken + 2 * starts[i];
      std::int64_t count = 0;
      const auto place_of = [&](std::int64_t j) {
        auto at = below(mix64(static_cast<std::uint64_t>(j)), 2 * k);
        while (table[at] != -1 && table[at] != j) at = at + 1 == 2 * k ? 0 : at + 1;
        return at;
      };
      draw_subset(
          n, k, random, [&](std::int64_t j) { return table[place_of(j)] == j; },
          [&](std::int64_t j) {
            table[place_of(j)] = j;
            out[count++] = begin + j;
          });
    }
  }
};

/// Edge k of a hop: its ends, and the slot of what it leads to, in `numbers`. There are starts[hop.rows] edges; nothing is done
/// for a later one.
template <class Atomics>
struct FollowEdges {
  HopRows hop;
  const Offset* starts;
  const Index* indices;
  TableSlots table;
  std::int64_t base;  // vertices that the table has
  std::int64_t *rows, *edges, *numbers, *of;
  Index* found;

  constexpr void operator()(std::int64_t k) const {
    if (k >= starts[hop.rows]) return;
    const auto row = row_of_entry(starts, hop.rows, k);
    if (!hop.all_given && hop.takes_all(hop.degree(row))) edges[k] = hop.begin(row) + (k - starts[row]);
    const auto to = indices[edges[k]];
    rows[k] = hop.first + row;
    found[k] = to;
    const auto seed = of ? hop.seeds[row] : 0;
    if (of) of[k] = seed;
    numbers[k] = table.insert<Atomics>(table.key(to, seed), base + k);
  }
};

/// 1 for each of `total` edges that is the first to lead to a new vertex, and 0 for all behind the last.
struct IsFresh {
  const TableSlot* slots;
  const std::int64_t* numbers;
  std::int64_t base;
  const Offset* total;
  Offset* out;
  constexpr void operator()(std::int64_t k) const {
    out[k] = k < *total && slots[numbers[k]].value == base + k ? 1 : 0;
  }
};

/// What the host asks of a hop.
struct HopCounts {
  std::int64_t edges, fresh;
};
struct TellCounts {
  const Offset *edges, *fresh;
  HopCounts* out;
  constexpr void operator()(std::int64_t) const { *out = {*edges, *fresh}; }
};

/// Numbers the new vertices; ranks[k] counts those before edge k.
struct PlaceFresh {
  TableSlot* slots;
  const std::int64_t* numbers;
  const Offset* ranks;
  const Index* found;
  const std::int64_t* of;
  std::int64_t base;
  std::int64_t *vertices, *seeds;
  constexpr void operator()(std::int64_t k) const {
    if (ranks[k + 1] == ranks[k]) return;
    const auto number = base + ranks[k];
    vertices[number] = found[k];
    if (of) seeds[number] = of[k];
    slots[numbers[k]].value = number;
  }
};

/// The numbers of slots.
struct NumbersOfSlots {
  const TableSlot* slots;
  std::int64_t* numbers;
  constexpr void operator()(std::int64_t k) const { numbers[k] = slots[numbers[k]].value; }
};

/// Seeds as vertices of the table, each its own.
template <class Id>
struct PlaceSeeds {
  const Id* ids;
  std::int64_t base, first_seed;
  std::int64_t *vertices, *seeds;
  constexpr void operator()(std::int64_t i) const {
    vertices[base + i] = ids[i];
    if (seeds) seeds[base + i] = first_seed + i;
  }
};

}  // namespace penstock::graph
