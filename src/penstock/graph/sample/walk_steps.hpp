#pragma once
#include <cstdint>

#include "penstock/graph/sample/edge_filter.hpp"
#include "penstock/graph/sample/gather_steps.hpp"
#include "penstock/graph/sample/walks.hpp"

// Walks on a device, which the CPU and nvcc compile: a thread does one walk, and thousands of threads hide the reads of each
// other.
namespace penstock::graph {

/// draw_by_sums without memory: the sums are made twice, in the same order.
template <class V, bool kWeighted, bool kBiased>
constexpr Offset draw_by_sums_again(const WalkRules<V, kWeighted, kBiased>& rules, Walker& w) {
  double sum = 0;
  for (std::int64_t i = 0; i < w.degree; ++i) sum += rules.weight_of(w, i);
  if (!(sum > 0)) return -1;
  const auto draw = w.draw_unit() * sum;
  double before = 0;
  for (std::int64_t i = 0; i < w.degree; ++i) {
    before += rules.weight_of(w, i);
    if (!(before < draw)) return w.first + i;
  }
  return w.first + w.degree - 1;  // the draw is at most the sum: never reached
}

template <class V, bool kWeighted, bool kBiased>
struct WalkAlone {
  WalkRules<V, kWeighted, kBiased> rules;
  EdgeFilter filter;
  const Index* starts;  // null: walk i begins at vertex i
  Index* out;

  constexpr void operator()(std::int64_t i) const {
    auto w = rules.enter(i, starts ? starts[i] : static_cast<Index>(i), out);
    while (w.step < rules.length) {
      auto what = rules.propose(w);
      auto to = w.before;  // where it goes, if it is taken
      if (what == Try::row) {
        w.edge = draw_by_sums_again(rules, w);
        what = w.edge < 0 ? Try::end : Try::taken;
        if (w.edge >= 0) to = rules.indices[w.edge];
      } else if (what == Try::drawn) {
        to = rules.indices[w.edge];
        what = rules.decide(w, to);
        if (what == Try::tested) {
          bool neighbours = filter.may_hold(w.before, to);
          if (neighbours) {
            const auto in = rules.searched(w.before, to);
            neighbours = has_column(in.row, in.size, in.column);
          }
          what = rules.is_taken(neighbours) ? Try::taken : Try::failed;
        }
      }
      if (what == Try::end) rules.end(w);
      else if (what == Try::restart) rules.restart(w);
      else if (what != Try::failed) rules.arrive(w, to);
    }
  }
};

template <class Id>
struct NarrowIds {
  const Id* ids;
  Index* out;
  constexpr void operator()(std::int64_t i) const { out[i] = static_cast<Index>(ids[i]); }
};

}  // namespace penstock::graph

// Values, and whether they are weights.
#define PENSTOCK_FOR_EACH_WALK(X) X(One, false) X(float, true) X(double, true)
