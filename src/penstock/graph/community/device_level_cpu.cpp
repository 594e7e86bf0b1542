// The CPU as the device of device_level.hpp: for tests of what drives it, and for comparing kernels with.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/community/device_level.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"

namespace penstock::community::on_cpu {
namespace {

/// f(u, weight) for entries [first, last) of v's list; of packed lists first is a multiple of kPackedPiece.
template <class F>
void each_neighbour(const DeviceLists& lists, Index v, Offset first, Offset last, F&& f) {
  if (!lists.view.offsets) {
    const graph::PackedRows rows{.lists = lists.view.packed};
    return graph::each_edge(rows, v, first, last, [&](Index u, Offset) { f(u, std::int64_t{1}); });
  }
  const auto begin = lists.view.offsets[v];
  for (auto e = begin + first; e < begin + last; ++e) f(lists.view.edges[e], lists.units(e));
}
template <class F>
void each_neighbour(const DeviceLists& lists, Index v, F&& f) {
  each_neighbour(lists, v, 0, lists.size_of(v), f);
}

struct Choice {
  Index to;
  double gain;
};
Choice choose(const DeviceMoves& m, const MoveRule& rule, const Looked& v) {
  std::unordered_map<Index, std::int64_t> met{{v.own, 0}};
  each_neighbour(m.lists, v.vertex, [&](Index u, std::int64_t w) {
    if (m.reaches(v.vertex, u)) met[m.labels[u]] += w;
  });
  Candidate best, stay;
  for (const auto& [c, weight] : met) {
    const auto one = m.offer(rule, v, c, weight);
    if (c == v.own) stay = one;
    if (is_better(one, best)) best = one;
  }
  return {best.to, best.worth - stay.worth};
}

/// Looks at v; returns whether it moves. Moves of a round are listed when all have been looked at.
bool look_at(const DeviceMoves& m, const MoveRule& rule, Index v, std::vector<Choice>& choices,
             std::vector<Index>& movers) {
  const Looked looked{v, m.labels[v], m.degree[v]};
  const auto [to, gain] = choose(m, rule, looked);
  const bool refused = to != looked.own && may_swap(rule, looked, to, m.members[looked.own], m.members[to]);
  if (!m.all && !refused) m.waiting[v] = 0;
  if (to == looked.own || refused) return false;
  choices.push_back({to, gain});
  movers.push_back(v);
  return true;
}

void list_moves(const DeviceMoves& m, int round, const std::vector<Choice>& choices,
                const std::vector<Index>& movers) {
  auto& count = m.counts->moved[round];
  for (std::size_t i = 0; i < movers.size(); ++i) {
    m.moved[count] = movers[i];
    m.wanted[count++] = choices[i].to;
    m.counts->gain += gain_units(2 * choices[i].gain);
  }
}

/// sums[v] = f(v, u, weight) of all of v's entries, added up
template <class F>
void add_up(const DeviceLists& lists, std::int64_t vertices, std::int64_t* sums, F&& f) {
  parallel_ranges(vertices, 1 << 10, [&](std::int64_t v, std::int64_t last) {
    for (; v < last; ++v) {
      std::int64_t sum = 0;
      each_neighbour(lists, Index(v), [&](Index u, std::int64_t w) { sum += f(Index(v), u, w); });
      sums[v] = sum;
    }
  });
}

}  // namespace

void add_degrees(const DeviceLists& lists, std::int64_t vertices, std::int64_t* degree, Stream) {
  add_up(lists, vertices, degree, [](Index v, Index u, std::int64_t w) { return u == v ? 2 * w : w; });
}

void add_inner(const DeviceLists& lists, std::int64_t vertices, const Index* within, std::int64_t* inner,
               Stream) {
  add_up(lists, vertices, inner,
         [&](Index v, Index u, std::int64_t w) { return u != v && within[u] == within[v] ? w : 0; });
}

void look(const DeviceMoves& m, const MoveRule& rule, int round, const Index* some, std::int64_t count, int,
          Stream) {
  std::vector<Choice> choices;
  std::vector<Index> movers;
  for (std::int64_t i = 0; i < count; ++i)
    if (m.looks_at(rule, some[i]) && round_of(some[i], rule) == round)
      look_at(m, rule, some[i], choices, movers);
  list_moves(m, round, choices, movers);
}

void look_at_hubs(const DeviceMoves& m, const MoveRule& rule, int round, const DeviceHubs& hubs, Stream) {
  std::vector<Choice> choices;
  std::vector<Index> movers;
  for (std::int64_t i = 0; i < hubs.count; ++i) {
    const auto v = hubs.vertices[i];
    hubs.moves[i] = m.looks_at(rule, v) && look_at(m, rule, v, choices, movers);
  }
  list_moves(m, round, choices, movers);
}

void commit(const DeviceMoves& m, int round, Stream) {
  for (std::int64_t i = 0; i < m.counts->moved[round]; ++i) {
    const auto v = m.moved[i], to = m.wanted[i], own = m.labels[v];
    m.total[own] -= m.degree[v], m.total[to] += m.degree[v];
    --m.members[own], ++m.members[to];
    m.labels[v] = to;
    if (m.within) m.waiting[v] = m.joined_in(round);
  }
}

void wake(const DeviceMoves& m, int round, Stream) {
  for (std::int64_t i = 0; i < m.counts->moved[round]; ++i) {
    const auto v = m.moved[i], own = m.labels[v];
    if (m.within) m.outward[own] += m.outward[v];
    each_neighbour(m.lists, v, [&](Index u, std::int64_t w) {
      if (m.within) m.outward[own] -= m.inward(round, v, u, w);
      else if (m.labels[u] != own) m.waiting[u] = 1;
    });
  }
}
// wake() has been there: on a GPU a warp would take a long list alone.
void wake_of_hubs(const DeviceMoves&, int, const DeviceHubs&, Stream) {}

void emit(const DeviceLists& lists, const EmitTo& to, Stream) {
  parallel_ranges(to.last - to.first, 1 << 8, [&](std::int64_t i, std::int64_t last) {
    for (; i < last; ++i) {
      const auto v = to.order[to.first + i];
      const auto own = to.labels[v];
      const auto before = to.before[to.first + i];
      auto k = before;
      each_neighbour(lists, v, [&](Index u, std::int64_t w) {
        if (const auto at = k++; at >= to.begin && at < to.end) {
          const auto d = to.labels[u];
          to.keys[at - to.begin] = d == own || w == 0 ? no_key(to.bits) : key_of(own, d, to.bits);
          to.weights[at - to.begin] = w;
        }
      });
    }
  });
}

}  // namespace penstock::community::on_cpu
