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

  /// Eight neighbouring columns, which rows of B often have, get neighbouring slots: they meet neither each other nor in a bank of
  /// shared memory. Where they meet another eight, all go on by one step, which is odd, so that it reaches every slot.
  static constexpr int kLogRun = 3, kStride = (1 << kLogRun) + 1;
  constexpr int first(Index column) const {
    const auto c = static_cast<std::uint32_t>(column);
    const auto run = (c >> kLogRun) * 2654435769u >> (32 + kLogRun - log_slots);
    return static_cast<int>(run << kLogRun | (c & ((1u << kLogRun) - 1)));
  }

  /// Returns the slot of a column, and sets `added` if the column is new.
  template <class Group>
  constexpr int insert(const Group& g, Index column, bool& added) const {
    for (int at = first(column);; at = (at + kStride) & (slots() - 1)) {
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

/// What the lanes of a warp fetched for one step: `live` says whether this lane has a product. Teams of lanes take an entry of A
/// each.
template <class Item>
struct Step {
  Item item{};
  bool live = false;
  int team = 0, teams = 0;
};

/// Calls visit(step) by all lanes of a warp at once, until it returns true or all products of the row were met, entries of A in
/// ascending order. Each lane reads of(i) for an entry of A; a team gets that of its entry, and fetch(of, j) reads what the
/// product with entry j of B needs. With Ahead it is called one step ahead, so that the memory answers while the step before is
/// added up: that pays where adding up takes long.
template <bool Ahead, class Group, class V, class Of, class Fetch, class F>
constexpr void step_through(const Group& g, const Factors<V>& f, Offset begin, Offset end, const Of& of,
                            const Fetch& fetch, const F& visit) {
  Step<decltype(fetch(of(begin), begin))> ahead;
  for (Offset from = begin; from < end; from += kGathered) {
    const int here = static_cast<int>(end - from < kGathered ? end - from : kGathered);
    Offset first = 0;
    int size = 0;
    decltype(of(begin)) mine{};
    if (g.rank() < here) {
      const Index k = f.a.indices[from + g.rank()];
      first = f.b_begin(k), size = static_cast<int>(f.b_size(k));
      mine = of(from + g.rank());
    }
    const int total = g.sum(size);
    int lanes = 4;  // the mean length of these rows of B, rounded up
    while (lanes < kGathered && lanes * here < total) lanes *= 2;
    const int team = g.rank() / lanes, lane = g.rank() % lanes, teams = kGathered / lanes;
    for (int e = 0; e < here; e += teams) {
      const int entry = e + team, owner = entry % kGathered;
      const Offset start = g.shuffle(first, owner) + lane;
      const int whole = g.shuffle(size, owner), count = (entry < here ? whole : 0) - lane;
      const auto theirs = g.shuffle(mine, owner);
      for (int s = 0; g.any(s < count); s += lanes) {
        const auto now = ahead;
        ahead.live = s < count, ahead.team = team, ahead.teams = teams;
        if (ahead.live) ahead.item = fetch(theirs, start + s);
        if constexpr (Ahead) {
          if (now.teams > 0 && visit(now)) return;
        } else {
          if (visit(ahead)) return;
        }
      }
    }
  }
  if (Ahead && ahead.teams > 0) visit(ahead);
}

/// The entries of a row, counted by a warp, or -1 if there are more than the table's limit.
template <class Group, class V>
constexpr int count_hash_warp(const Group& g, const Factors<V>& f, Offset begin, Offset end,
                              const Table& table) {
  table.clear(g);
  int taken = 0;
  const int limit = table.limit();
  g.sync();
  step_through<false>(
      g, f, begin, end, [](Offset) { return 0; }, [&](int, Offset j) { return f.b.indices[j]; },
      [&](const Step<Index>& step) {
        bool added = false;
        if (step.live) table.insert(g, step.item, added);
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

/// Whether column and slot are sorted as one number of 32 bits.
constexpr bool sorts_words(std::int64_t cols, int log_slots) { return cols >> (32 - log_slots) == 0; }

/// The bytes of a slot of a row's hash table when C is written: key, sum, and half a place in the order of the entries.
template <class P>
constexpr std::int64_t slot_bytes(bool words) {
  return std::int64_t(sizeof(Index)) + value_bytes<P> +
         std::int64_t(words ? sizeof(std::uint32_t) : sizeof(std::uint64_t)) / 2;
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

/// An entry of B, and the factors of its product.
template <class S>
struct ProductItem {
  Index column = 0;
  typename S::value_type a{}, b{};
};

/// A warp's part of write_hash(): adds the products up.
template <class S, class Group, class P>
constexpr void add_steps(const Group& g, const FactorsOf<S>& f, Offset begin, Offset end, const Table& table,
                         bool single, P* sums) {
  using T = typename S::value_type;
  using Item = ProductItem<S>;
  const auto of = [&](Offset i) {
    if constexpr (is_pattern<P>) return 0;
    else return f.a.values ? f.a.values[i] : S::one();
  };
  const auto fetch = [&](decltype(of(begin)) a, Offset j) {
    if constexpr (is_pattern<P>) return Item{f.b.indices[j], S::one(), S::one()};
    else return Item{f.b.indices[j], a, f.b.values ? f.b.values[j] : S::one()};
  };
  step_through<true>(g, f, begin, end, of, fetch, [&](const Step<Item>& step) {
    bool added = false;
    int slot = 0;
    if (step.live) slot = table.insert(g, step.item.column, added);
    if constexpr (!is_pattern<P>) {
      const T p = S::mul(step.item.a, step.item.b);
      if (!single) {
        if (step.live) g.template add<S>(&sums[slot], p);
      } else if (step.teams == 1) {  // all lanes have different columns
        if (step.live) sums[slot] = S::add(sums[slot], p);
        g.sync();
      } else {
        for (int t = 0; t < step.teams; ++t) {  // those of a team have
          if (step.live && step.team == t) sums[slot] = S::add(sums[slot], p);
          g.sync();
        }
      }
    }
    return false;
  });
  g.sync();
}

/// Writes a row by a hash table of at least 2 * 32 slots, at most half of them taken. `sums` has a place for each slot, `order`
/// for half as many. If no row of B has a column twice (`single`), a warp adds the products of a column up in a fixed order,
/// without atomic operations. `longs` is for groups of several warps, and may be null for a warp.
template <class S, class Group, class P>
constexpr void write_hash(const Group& g, const FactorsOf<S>& f, Offset begin, Offset end, LongRows* longs,
                          const Table& table, bool single, P* sums, std::uint64_t* order, Index* columns,
                          P* values) {
  table.clear(g);
  if constexpr (!is_pattern<P>)
    for (int s = g.rank(); s < table.slots(); s += g.size()) sums[s] = S::zero();
  g.sync();
  if (g.size() == 32) {
    add_steps<S>(g, f, begin, end, table, single, sums);
  } else {
    walk(g, f, begin, end, *longs, [&](Offset i, Offset j) {
      bool added = false;
      [[maybe_unused]] const int s = table.insert(g, f.b.indices[j], added);
      if constexpr (!is_pattern<P>) g.template add<S>(&sums[s], product<S>(f, i, j));
    });
  }
  if (sorts_words(f.b.cols, table.log_slots))
    write_sorted(g, table, sums, reinterpret_cast<std::uint32_t*>(order), columns, values);
  else write_sorted(g, table, sums, order, columns, values);
}

}  // namespace penstock::spgemm_group
