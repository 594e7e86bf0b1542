#include "penstock/graph/sssp/weights_look.hpp"

namespace penstock::graph {
namespace {

template <class N, class V>
void write_narrow(const LookArgs<V>& p) {
  auto* const out = static_cast<N*>(p.narrow);
  for (std::int64_t k = 0; k < p.count; ++k) {
    const bool fits = p.weights[k] >= V(0) && static_cast<double>(p.weights[k]) <= kLargestWhole;
    out[k] = static_cast<N>(fits ? static_cast<std::int32_t>(p.weights[k]) : 0);
  }
}

/// Without an early exit or a branch: bad weights are rare.
template <class V>
void look_at_values(const LookArgs<V>& p, WeightsFound& found) {
  constexpr V kEndless = std::numeric_limits<V>::infinity();
  V smallest[kLookLanes], largest[kLookLanes] = {};
  double sum[kLookLanes] = {};
  std::fill_n(smallest, kLookLanes, kEndless);
  int fractions = 0, endless = 0, bad = 0;
  const auto look = [&](V w, int lane) {
    const bool ends = w < kEndless;
    const V x = ends ? w : V(0), y = ends ? w : kEndless;
    const double d = static_cast<double>(x);
    bad |= !(w >= V(0));
    endless |= !ends;
    const bool fits = d >= 0.0 && d <= kLargestWhole;
    fractions |= !fits | (static_cast<double>(static_cast<std::int32_t>(fits ? d : 0.0)) != d && fits);
    smallest[lane] = y < smallest[lane] ? y : smallest[lane];
    largest[lane] = x > largest[lane] ? x : largest[lane];
    sum[lane] += d;
  };
  std::int64_t k = 0;
  for (; k + kLookLanes <= p.count; k += kLookLanes)
    for (int lane = 0; lane < kLookLanes; ++lane) look(p.weights[k + lane], lane);
  for (int lane = 0; k < p.count; ++k, ++lane) look(p.weights[k], lane);
  found.whole = !(fractions | endless), found.finite = !endless, found.good = !bad;
  for (int lane = 0; lane < kLookLanes; ++lane) {
    found.smallest = std::min(found.smallest, static_cast<double>(smallest[lane]));
    found.largest = std::max(found.largest, static_cast<double>(largest[lane]));
    found.sum += sum[lane];
  }
  if (p.narrow_bytes == 1) write_narrow<std::uint8_t>(p);
  else if (p.narrow_bytes == 2) write_narrow<std::uint16_t>(p);
  else if (p.narrow_bytes == 4) write_narrow<std::uint32_t>(p);
}

}  // namespace

template <class V>
WeightsFound look_at_weights(const LookArgs<V>& p) {
  WeightsFound found;
  if constexpr (!is_pattern<V>) look_at_values(p, found);
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
