#include "penstock/graph/sssp/weights_look.hpp"

#include <type_traits>

namespace penstock::graph {
namespace {

/// Without an early exit or a branch: bad weights are rare. N: what weights are written as; void: nothing.
template <class N, class V>
void look_at_values(const LookArgs<V>& p, WeightsFound& found) {
  constexpr V kEndless = std::numeric_limits<V>::infinity();
  V smallest[kLookLanes], largest[kLookLanes] = {};
  double sum[kLookLanes] = {};
  std::fill_n(smallest, kLookLanes, kEndless);
  int fractions = 0, endless = 0, bad = 0;
  const auto look = [&](std::int64_t k, int lane) {
    const V w = p.weights[k];
    const bool ends = w < kEndless;
    const V x = ends ? w : V(0), y = ends ? w : kEndless;
    const double d = static_cast<double>(x), whole = d >= 0.0 && d <= kLargestWhole ? d : 0.5;
    const auto number = static_cast<std::int32_t>(whole);
    bad |= !(w >= V(0));
    endless |= !ends;
    fractions |= static_cast<double>(number) != whole;
    smallest[lane] = y < smallest[lane] ? y : smallest[lane];
    largest[lane] = x > largest[lane] ? x : largest[lane];
    sum[lane] += d;
    if constexpr (!std::is_void_v<N>) static_cast<N*>(p.narrow)[k] = static_cast<N>(number);
  };
  std::int64_t k = 0;
  for (; k + kLookLanes <= p.count; k += kLookLanes)
    for (int lane = 0; lane < kLookLanes; ++lane) look(k + lane, lane);
  for (int lane = 0; k < p.count; ++k, ++lane) look(k, lane);
  found.whole = !(fractions | endless), found.finite = !endless, found.good = !bad;
  for (int lane = 0; lane < kLookLanes; ++lane) {
    found.smallest = std::min(found.smallest, static_cast<double>(smallest[lane]));
    found.largest = std::max(found.largest, static_cast<double>(largest[lane]));
    found.sum += sum[lane];
  }
}

template <class V>
void look_and_write(const LookArgs<V>& p, WeightsFound& found) {
  if (!p.narrow) look_at_values<void>(p, found);
  else if (p.narrow_bytes == 1) look_at_values<std::uint8_t>(p, found);
  else if (p.narrow_bytes == 2) look_at_values<std::uint16_t>(p, found);
  else look_at_values<std::uint32_t>(p, found);
}

}  // namespace

template <class V>
WeightsFound look_at_weights(const LookArgs<V>& p) {
  WeightsFound found;
  if constexpr (!is_pattern<V>) look_and_write(p, found);
  if (!p.rows) return found;
  for (std::int64_t k = 0; k < p.count; ++k) {
    std::uint64_t bits = 0;
    if constexpr (!is_pattern<V>) bits = bits_of_weight(p.weights[k]);
    found.mirror += mirror_hash(p.rows[k], std::uint32_t(p.columns[k]), bits);
  }
  return found;
}
template WeightsFound look_at_weights(const LookArgs<One>&);
template WeightsFound look_at_weights(const LookArgs<float>&);
template WeightsFound look_at_weights(const LookArgs<double>&);

}  // namespace penstock::graph
