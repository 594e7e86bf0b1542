#pragma once
#include <cstdint>
#include <limits>

#include "penstock/graph/sample/table_steps.hpp"

// The steps that draw edges by weights, or of those that are not too late, on a device. Edges of all vertices of a hop are looked at
// side by side; only sums of weights are taken by one thread a vertex.
namespace penstock::graph {

struct EdgeValues {
  const float* single = nullptr;
  const double* real = nullptr;  // neither: each is 1
  constexpr double at(Offset e) const {
    return single ? static_cast<double>(single[e]) : real ? real[e] : 1.0;
  }
};

/// How many edges each vertex has, and 0 behind the last.
struct CountEdges {
  HopRows hop;
  Offset* out;
  constexpr void operator()(std::int64_t i) const { out[i] = i < hop.rows ? hop.degree(i) : 0; }
};
/// The edges of all vertices; `before` counts those of earlier ones.
struct ListEdges {
  HopRows hop;
  const Offset* before;
  std::int64_t* edges;
  constexpr void operator()(std::int64_t k) const {
    const auto row = row_of_entry(before, hop.rows, k);
    edges[k] = hop.begin(row) + (k - before[row]);
  }
};
/// Whether an edge is not later than its seed; no behind the last one.
struct IsInTime {
  HopRows hop;
  const Offset* before;
  const std::int64_t *edges, *times, *seed_times;
  std::int64_t total;
  Offset* out;
  constexpr void operator()(std::int64_t k) const {
    out[k] = k < total && times[edges[k]] <= seed_times[hop.seeds[row_of_entry(before, hop.rows, k)]];
  }
};
/// Keeps what is marked: ranks[k + 1] > ranks[k].
struct KeepMarked {
  const Offset* ranks;
  const std::int64_t* edges;
  std::int64_t* kept;
  constexpr void operator()(std::int64_t k) const {
    if (ranks[k + 1] > ranks[k]) kept[ranks[k]] = edges[k];
  }
};
struct RanksOfStarts {
  const Offset *ranks, *before;
  Offset* out;
  constexpr void operator()(std::int64_t i) const { out[i] = ranks[before[i]]; }
};

/// From positions in `listed` to edges, and those of vertices that give all of theirs.
struct FromListed {
  HopRows hop;  // its lists are those of `listed`
  const Offset* starts;
  const std::int64_t* listed;
  std::int64_t* edges;
  constexpr void operator()(std::int64_t k) const {
    const auto row = row_of_entry(starts, hop.rows, k);
    const bool all = hop.takes_all(hop.degree(row));
    edges[k] = listed[all ? hop.begin(row) + (k - starts[row]) : edges[k]];
  }
};

/// Whether the weight of a listed edge is no weight.
struct HasBadWeight {
  const std::int64_t* listed;
  EdgeValues weights;
  constexpr bool operator()(std::int64_t k) const {
    const auto w = weights.at(listed[k]);
    return !(w >= 0 && w <= std::numeric_limits<double>::max());
  }
};

/// What listed edges are sorted by, to be drawn without replacement: kNoDraw without weight.
struct KeyByWeight {
  static constexpr std::uint64_t kNoDraw = ~std::uint64_t{0};
  HopRows hop;
  const Offset* starts;
  const std::int64_t* listed;
  EdgeValues weights;
  std::uint64_t* keys;
  std::int64_t* positions;
  constexpr void operator()(std::int64_t k) const {
    const auto row = row_of_entry(starts, hop.rows, k);
    const auto w = weights.at(listed[k]);
    const auto random = draws_of(hop.seed, hop.relation, hop.first + row);
    positions[k] = k;
    keys[k] = w > 0 ? draw_key(random(static_cast<std::uint64_t>(k - starts[row])), w) : kNoDraw;
  }
};
struct RowsOfPositions {
  const Offset* starts;
  std::int64_t rows;
  const std::int64_t* positions;
  std::uint32_t* keys;
  constexpr void operator()(std::int64_t k) const {
    keys[k] = static_cast<std::uint32_t>(row_of_entry(starts, rows, positions[k]));
  }
};
/// Marks the smallest keys of each vertex, in whose order its edges are.
struct MarkSmallest {
  HopRows hop;
  const Offset* starts;
  const std::int64_t *positions, *listed;
  EdgeValues weights;
  Offset* marks;
  constexpr void operator()(std::int64_t k) const {
    const auto row = row_of_entry(starts, hop.rows, k);
    const auto most = drawn_of(starts[row + 1] - starts[row], hop.fanout, hop.replace);
    if (k - starts[row] < most && weights.at(listed[positions[k]]) > 0) marks[positions[k]] = 1;
  }
};

struct TakeWeights {
  const std::int64_t* listed;
  EdgeValues weights;
  double* taken;
  constexpr void operator()(std::int64_t k) const { taken[k] = weights.at(listed[k]); }
};
/// Replaces the weights of each vertex's edges by their sums up to each of them, in the order of one thread: the CPU's bits. So a
/// vertex of many edges takes a thread long.
struct SumWeights {
  const Offset* starts;
  double* sums;
  constexpr void operator()(std::int64_t row) const {
    double sum = 0;
    for (auto k = starts[row]; k < starts[row + 1]; ++k) sums[k] = sum += sums[k];
  }
};
struct IsTooMuch {
  const Offset* starts;
  const double* sums;
  constexpr bool operator()(std::int64_t row) const {
    return starts[row + 1] > starts[row] &&
           !(sums[starts[row + 1] - 1] <= std::numeric_limits<double>::max());
  }
};
/// How many edges are drawn of each vertex: none without weight.
struct CountByWeight {
  HopRows hop;
  const Offset* starts;
  const double* sums;
  Offset* out;
  constexpr void operator()(std::int64_t i) const {
    out[i] = i < hop.rows && starts[i + 1] > starts[i] && sums[starts[i + 1] - 1] > 0 ? hop.fanout : 0;
  }
};
struct DrawByWeight {
  HopRows hop;
  const Offset *starts, *drawn;
  const double* sums;
  const std::int64_t* listed;
  std::int64_t* edges;
  constexpr void operator()(std::int64_t k) const {
    const auto row = row_of_entry(drawn, hop.rows, k);
    const auto random = draws_of(hop.seed, hop.relation, hop.first + row);
    const auto all = sums[starts[row + 1] - 1];
    const auto lift = lift_of(all);
    const auto draw = unit<double>(random(static_cast<std::uint64_t>(k - drawn[row]))) * (all * lift);
    auto low = starts[row], high = starts[row + 1];  // the first sum that is not below the draw
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (sums[middle] * lift < draw) low = middle + 1;
      else high = middle;
    }
    edges[k] = listed[low];
  }
};

}  // namespace penstock::graph
