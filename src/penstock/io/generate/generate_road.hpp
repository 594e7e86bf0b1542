#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

struct RoadOptions {
  std::int64_t nx = 0, ny = 0;
  double removed = 0.3;     // share of the grid's edges left out; above 0.5 the grid falls to pieces
  double diagonals = 0.05;  // share of the cells' diagonals put in
  std::uint64_t seed = 0;
};

/// A road-like graph: a grid with gaps and a few diagonals, undirected, degree about 3, a diameter of the
/// order of nx + ny. Weights are whole numbers: 1 to 10 along the grid, 2 to 14 on diagonals.
template <class V>
Csr<V> generate_road(const RoadOptions& options);

}  // namespace penstock
