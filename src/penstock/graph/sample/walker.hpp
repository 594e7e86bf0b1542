#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/io/random.hpp"

// One walker, and how it draws an edge by looking at all of its row: what walks do where drawing one and rejecting it would
// take too long.
namespace penstock::graph {

constexpr Index kNowhere = -1;

struct Walker {
  Random random{0, 0};
  std::uint64_t draws = 0;
  Index at = 0, before = kNowhere, start = 0;
  int tries = 0;
  std::int64_t step = 0;
  Index* out = nullptr;
  Offset first = 0, edge = 0;
  std::int64_t degree = 0;

  std::uint64_t draw() { return random(draws++); }
  double draw_unit() { return unit<double>(draw()); }
};

/// Whether a row that ascends has a column. Every step halves what is left, without a branch.
inline bool has_column(const Index* row, std::int64_t n, Index column) {
  if (n == 0) return false;
  for (; n > 1; n -= n / 2) row += row[n / 2 - 1] < column ? n / 2 : 0;
  return *row == column;
}

/// node2vec's preferences, and what a rejection needs to know of them.
struct Bias {
  double back, away;   // 1/p and 1/q
  double most, least;  // of the edges that do not lead back
  double near_back;    // what the edge back has up to `most`
  double extra;        // and what it has beyond

  Bias(double p, double q)
      : back(1 / p),
        away(1 / q),
        most(std::max(1.0, away)),
        least(std::min(1.0, away)),
        near_back(std::min(back, most)),
        extra(std::max(0.0, back - most)) {}
};

/// The edge that a walker takes, or -1 where no edge has a positive weight, by the sums of the row's weights.
template <class V, bool kWeighted, bool kBiased>
Offset draw_by_sums(const Csr<V>& a, Walker& w, const Bias& bias, std::vector<double>& sums) {
  sums.resize(at(w.degree));
  const bool biased = kBiased && w.before != kNowhere;
  const auto* row = biased ? a.indices.data + a.indptr.data[w.before] : nullptr;
  const auto size = biased ? a.indptr.data[w.before + 1] - a.indptr.data[w.before] : 0;
  double sum = 0;
  for (std::int64_t i = 0; i < w.degree; ++i) {
    double weight = 1;
    if constexpr (kWeighted && !is_pattern<V>) weight = static_cast<double>(a.values.data[w.first + i]);
    if (biased) {
      const auto to = a.indices.data[w.first + i];
      weight *= to == w.before ? bias.back : has_column(row, size, to) ? 1 : bias.away;
    }
    sums[at(i)] = sum += weight;
  }
  if (!(sum > 0)) return -1;
  return w.first + (std::ranges::lower_bound(sums, w.draw_unit() * sum) - sums.begin());
}

}  // namespace penstock::graph
