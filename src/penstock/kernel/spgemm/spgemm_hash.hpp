#pragma once
#include <cstdint>
#include <limits>

#include "penstock/kernel/spgemm/spgemm_group.hpp"

// Rows of C in a hash table of columns (spgemm_group.hpp says what a Group is). A table that counts may be too small on purpose:
// most rows have far fewer entries than products, and the few that fill it are counted again in a larger one.
namespace penstock::spgemm_group {

inline constexpr Index kFree = -1;

struct Table {
  Index* keys;
  int log_slots;
  constexpr int slots() const { return 1 << log_slots; }
  /// Entries after which a count gives up; 32 more may be there by then.
  constexpr int limit() const { return slots() / 4 * 3; }

  /// Returns the slot of a column, and sets `added` if the column is new.
  template <class Group>
  constexpr int insert(const Group& g, Index column, bool& added) const {
    auto at = static_cast<int>((static_cast<std::uint32_t>(column) * 2654435769u) >> (32 - log_slots));
    for (;; at = (at + 1) & (slots() - 1)) {
      // Most products meet a column that is there; to read it is much cheaper than to exchange it.
      Index found = g.load(&keys[at]);
      if (found == kFree) found = g.compare_swap(&keys[at], kFree, column);
      added = found == kFree;
      if (added || found == column) return at;
    }
  }
  template <class Group>
  constexpr void clear(const Group& g) const {
    for (int s = g.rank(); s < slots(); s += g.size()) keys[s] = kFree;
  }
};

/// Calls visit(live, i, j, team, teams) by all lanes of a warp at once, until it returns true or all products of the row were
/// met; `live` says whether the lane has one, of entries i of A and j of B. Teams of lanes take an entry of A each, in
/// ascending order.
template <class Group, class V, class F>
constexpr void step_through(const Group& g, const Factors<V>& f, Offset begin, Offset end, const F& visit) {
  for (Offset from = begin; from < end; from += kGathered) {
    const int here = static_cast<int>(end - from < kGathered ? end - from : kGathered);
    Offset first = 0;
    int size = 0;
    if (g.rank() < here) {
      const Index k = f.a.indices[from + g.rank()];
      first = f.b_begin(k), size = static_cast<int>(f.b_size(k));
    }
    const int total = g.sum(size);
    int lanes = 4;  // the mean length of these rows of B, rounded up
    while (lanes < kGathered && lanes * here < total) lanes *= 2;
    const int team = g.rank() / lanes, lane = g.rank() % lanes, teams = kGathered / lanes;
    for (int e = 0; e < here; e += teams) {
      const int entry = e + team, owner = entry % kGathered;
      const Offset start = g.shuffle(first, owner);
      const int whole = g.shuffle(size, owner), count = entry < here ? whole : 0;
      for (int s = 0; g.any(s < count); s += lanes)
        if (visit(s + lane < count, from + entry, start + s + lane, team, teams)) return;
    }
  }
}

/// The entries of a row, counted by a warp, or -1 if there are more than the table's limit.
template <class Group, class V>
constexpr int count_hash_warp(const Group& g, const Factors<V>& f, Offset begin, Offset end,
                              const Table& table) {
  table.clear(g);
  int taken = 0;
  const int limit = table.limit();
  g.sync();
  step_through(g, f, begin, end, [&](bool live, Offset, Offset j, int, int) {
    bool added = false;
    if (live) table.insert(g, f.b.indices[j], added);
    taken += g.ones(g.ballot(added));
    return taken > limit;
  });
  g.sync();
  return taken > limit ? -1 : taken;
}

template <class Group, class V>
constexpr int count_hash(const Group& g, const Factors<V>& f, Offset begin, Offset end, LongRows& longs,
                         const Table& table) {
  table.clear(g);
  int mine = 0;
  g.sync();
  walk(g, f, begin, end, longs, [&](Offset, Offset j) {
    bool added = false;
    table.insert(g, f.b.indices[j], added);
    mine += added;
  });
  return g.sum(mine);
}

// ---- sorting ----

inline constexpr int kLaneKeys = 4, kWarpKeys = 32 * kLaneKeys;

/// The steps of a bitonic sort from `step` down to 1, of the 32 E keys of a warp: lane l has numbers first + l E + [0, E).
template <int E, class Group, class Key>
constexpr void merge_in_warp(const Group& g, Key (&keys)[E], int first, int run, int step) {
  const int lane = g.rank() % 32, number = first + lane * E;
  for (; step >= E; step /= 2) {
    const bool low = (lane & (step / E)) == 0;
    for (int i = 0; i < E; ++i) {
      const Key other = g.shuffle_xor(keys[i], step / E);
      const bool least = low == (((number + i) & run) == 0);
      keys[i] = (other < keys[i]) == least ? other : keys[i];
    }
  }
  for (int half = E / 2; half > 0; half /= 2) {
    if (half > step) continue;
    for (int i = 0; i < E; ++i) {
      if ((i & half) != 0) continue;
      const bool ascends = ((number + i) & run) == 0;
      const Key x = keys[i], y = keys[i + half];
      if ((y < x) == ascends) keys[i] = y, keys[i + half] = x;
    }
  }
}

/// One visit of a warp to its kWarpKeys keys, in which they stay in registers.
template <class Group, class Key, class F>
constexpr void in_registers(const Group& g, Key* keys, int n, const F& work) {
  const int lane = g.rank() % 32, warp = g.rank() / 32, warps = g.size() / 32;
  for (int first = warp * kWarpKeys; first < n; first += warps * kWarpKeys) {
    Key mine[kLaneKeys]{};
    for (int i = 0; i < kLaneKeys; ++i) mine[i] = keys[first + lane * kLaneKeys + i];
    work(mine, first);
    for (int i = 0; i < kLaneKeys; ++i) keys[first + lane * kLaneKeys + i] = mine[i];
  }
  g.sync();
}

/// How many keys sort() takes: the rest are the largest ones.
constexpr int sorted_size(int count) {
  if (count <= 32) return 32;
  int n = kWarpKeys;
  while (n < count) n *= 2;
  return n;
}

/// Sorts n keys, a number that sorted_size() gives, in ascending order. Exchanges between keys of a warp are shuffles, only
/// farther ones go through memory.
template <class Group, class Key>
constexpr void sort(const Group& g, Key* keys, int n) {
  if (n == 32) {
    if (g.rank() < 32) {
      Key mine[1] = {keys[g.rank()]};
      for (int run = 2; run <= 32; run *= 2) merge_in_warp<1>(g, mine, 0, run, run / 2);
      keys[g.rank()] = mine[0];
    }
    g.sync();
    return;
  }
  in_registers(g, keys, n, [&](Key(&mine)[kLaneKeys], int first) {
    for (int run = 2; run <= kWarpKeys; run *= 2) merge_in_warp<kLaneKeys>(g, mine, first, run, run / 2);
  });
  for (int run = 2 * kWarpKeys; run <= n; run *= 2) {
    for (int step = run / 2; step >= kWarpKeys; step /= 2) {
      for (int p = g.rank(); p < n / 2; p += g.size()) {
        const int low = 2 * p - (p & (step - 1)), high = low + step;
        const bool ascends = (low & run) == 0;
        const Key x = keys[low], y = keys[high];
        if ((y < x) == ascends) keys[low] = y, keys[high] = x;
      }
      g.sync();
    }
    in_registers(g, keys, n, [&](Key(&mine)[kLaneKeys], int first) {
      merge_in_warp<kLaneKeys>(g, mine, first, run, kWarpKeys / 2);
    });
  }
}

// ---- writing ----

/// The bytes that a row's hash table takes when C is written: keys, sums, and the order of the entries.
template <class P>
constexpr std::int64_t hash_bytes(int log_slots) {
  return (std::int64_t(sizeof(Index)) + value_bytes<P> + std::int64_t(sizeof(std::uint64_t)) / 2)
         << log_slots;
}

/// Writes the columns of a table in their order, and their sums. `order` has a place for half of the slots.
template <class Key, class Group, class P>
constexpr void write_sorted(const Group& g, const Table& table, const P* sums, Key* order, Index* columns,
                            P* values) {
  const int slots = table.slots();
  int mine = 0, count = 0;
  for (int s = g.rank(); s < slots; s += g.size()) mine += table.keys[s] != kFree;
  int at = g.scan(mine, &count);
  for (int s = g.rank(); s < slots; s += g.size())
    if (table.keys[s] != kFree)
      order[at++] = static_cast<Key>(static_cast<std::uint32_t>(table.keys[s])) << table.log_slots |
                    static_cast<Key>(s);
  const int n = sorted_size(count);
  for (int e = count + g.rank(); e < n; e += g.size()) order[e] = std::numeric_limits<Key>::max();
  g.sync();
  sort(g, order, n);
  for (int e = g.rank(); e < count; e += g.size()) {
    columns[e] = static_cast<Index>(order[e] >> table.log_slots);
    if constexpr (!is_pattern<P>) values[e] = sums[order[e] & static_cast<Key>(slots - 1)];
  }
}

/// Writes a row by a hash table of at least 2 * 32 slots, at most half of them taken. `sums` has a place for each slot, `order`
/// for half as many. If no row of B has a column twice (`single`), a warp adds the products of a column up in a fixed order,
/// without atomic operations.
template <class S, class Group, class P>
constexpr void write_hash(const Group& g, const FactorsOf<S>& f, Offset begin, Offset end, LongRows& longs,
                          const Table& table, bool single, P* sums, std::uint64_t* order, Index* columns,
                          P* values) {
  table.clear(g);
  if constexpr (!is_pattern<P>)
    for (int s = g.rank(); s < table.slots(); s += g.size()) sums[s] = S::zero();
  g.sync();
  if (single && g.size() == 32) {
    step_through(g, f, begin, end, [&](bool live, Offset i, Offset j, int team, int teams) {
      bool added = false;
      int slot = 0;
      if (live) slot = table.insert(g, f.b.indices[j], added);
      if constexpr (!is_pattern<P>) {
        const P p = live ? product<S>(f, i, j) : S::zero();
        for (int t = 0; t < teams; ++t) {  // lanes of a team have different columns
          if (live && team == t) sums[slot] = S::add(sums[slot], p);
          g.sync();
        }
      }
      return false;
    });
    g.sync();
  } else {
    walk(g, f, begin, end, longs, [&](Offset i, Offset j) {
      bool added = false;
      [[maybe_unused]] const int s = table.insert(g, f.b.indices[j], added);
      if constexpr (!is_pattern<P>) g.template add<S>(&sums[s], product<S>(f, i, j));
    });
  }
  // Column and slot are sorted as one number, which is short where there are few columns.
  if (f.b.cols >> (32 - table.log_slots) == 0)
    write_sorted(g, table, sums, reinterpret_cast<std::uint32_t*>(order), columns, values);
  else write_sorted(g, table, sums, order, columns, values);
}

}  // namespace penstock::spgemm_group
