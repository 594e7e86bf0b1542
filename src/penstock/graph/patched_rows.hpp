#pragma once
#include <cstdint>

#include "penstock/graph/rows.hpp"

// A graph some of whose lists are replaced, as searches on the CPU read it (rows.hpp): each vertex has one list, from here or from
// there, so that a changed graph is walked as fast as an unchanged one but for a look at where the list is.
namespace penstock::graph {

/// `Base` has the lists that are not replaced: a matrix, or packed lists.
template <class Base>
struct Patched {
  std::int64_t rows = 0, cols = 0;
  Offset edges = 0;
  Base base;
  CsrView<One> lists;
  const Index* slots = nullptr;  // of each vertex its row in `lists`, or -1: the base's

  Offset nnz() const { return edges; }
};
using PatchedRows = Patched<CsrView<One>>;

/// Edges are numbered within each list.
template <class Base>
EdgeRange range_of(const Patched<Base>& a, std::int64_t v) {
  const auto s = a.slots[v];
  return {0, s < 0 ? degree_of(a.base, v) : degree_of(a.lists, s)};
}
template <class Base>
void prefetch_range(const Patched<Base>& a, Index v) {
  __builtin_prefetch(a.slots + v);
  if (v < a.base.rows) prefetch_range(a.base, v);
}
template <class Base>
void prefetch_list(const Patched<Base>& a, Index v) {
  const auto s = a.slots[v];
  if (s < 0) prefetch_list(a.base, v);
  else prefetch_list(a.lists, s);
}

template <class Base, class F>
void each_edge(const Patched<Base>& a, std::int64_t v, Offset first, Offset last, F&& f) {
  const auto s = a.slots[v];
  const auto walk = [&](const auto& from, std::int64_t row) {
    const auto begin = range_of(from, row).first;
    each_edge(from, row, begin + first, begin + last, [&](Index u, Offset k) { f(u, k - begin); });
  };
  if (s < 0) walk(a.base, v);
  else walk(a.lists, s);
}
template <class Base, class F>
bool any_end(const Patched<Base>& a, std::int64_t v, F&& f) {
  const auto s = a.slots[v];
  return s < 0 ? any_end(a.base, v, f) : any_end(a.lists, s, f);
}

template <class Base>
bool same_lists(const Patched<Base>& a, const Patched<Base>& b) {
  return a.slots == b.slots && same_lists(a.base, b.base);
}

/// Those of the base, and a look at the slot.
template <class Base>
constexpr ReadCost read_cost(const Patched<Base>&) {
  auto cost = read_cost(Base{});
  cost.look += 2;
  return cost;
}

}  // namespace penstock::graph
