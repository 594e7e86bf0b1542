#pragma once
#include <cstdint>

#include "penstock/format/assemble.hpp"
#include "penstock/io/generate/edge.hpp"

// An undirected graph of edges that are functions of their numbers, each stored in both directions.
namespace penstock {

/// EdgeAt: (std::int64_t) -> Edge, the same one every time.
template <class EdgeAt>
struct MirroredSource {
  std::int64_t edges;
  EdgeAt edge;

  std::int64_t units() const { return edges; }
  std::int64_t max_per_unit() const { return 2; }
  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    for (auto e = first; e < last; ++e) {
      const auto [row, column] = edge(e);
      emit(row, column, One{});
      emit(column, row, One{});
    }
  }
};

template <class EdgeAt>
Csr<One> undirected(std::int64_t vertices, std::int64_t edges, EdgeAt edge) {
  return assemble<One>(vertices, vertices, MirroredSource<EdgeAt>{edges, edge});
}

}  // namespace penstock
