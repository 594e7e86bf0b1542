#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/sssp/weights.hpp"

namespace penstock {

struct SsspOptions {
  double delta = 0;  // the width of a bucket; 0: it is chosen from weights and degrees
  double limit = std::numeric_limits<double>::infinity();  // longer paths are not searched for
  bool predecessors = false;
};

template <class T>
struct SsspResult {
  Array<T> distances;         // infinity where there is no path
  Array<Index> predecessors;  // empty unless asked for; -9999 for sources and where there is no path
};

/// The type of the distances: that of the weights, and double for a pattern, whose edges count 1.
template <class V>
using Distance = std::conditional_t<is_pattern<V>, double, V>;

/// Distances from the nearest of `sources`. Each is the least, over all paths, of the weights added up from the source
/// on in floating point: unique, so bits do not depend on threads, delta or the weights' narrow form. A predecessor is
/// the smallest nearer vertex on a shortest path; where only edges that add nothing lead to a vertex, the smallest on a
/// path with the fewest of those. `weights` are path_weights(a).
template <class V>
SsspResult<Distance<V>> sssp(const Csr<V>& a, const PathWeights& weights, std::span<const Index> sources,
                             const SsspOptions& options = {});

/// Throws Error{invalid_argument} that says what is wrong where, unless no edge shortens a distance, every distance is
/// reached over a chain of edges that explain it, and (where not empty) predecessors form such chains.
template <class V>
void sssp_verify(const Csr<V>& a, std::span<const Index> sources, std::span<const Distance<V>> distances,
                 std::span<const Index> predecessors);

/// For every vertex the source whose tree it is in, -9999 where it has none.
Array<Index> tree_roots(std::span<const Index> sources, std::span<const Index> predecessors);

namespace graph {

/// Finds the edges of one row that would shorten a distance, writes their ends and the new distances to out_v and out_d, which
/// have room for `count` and 16 more, and returns how many there are. Other threads may lower distances meanwhile, so every
/// result is a candidate that has to be checked again.
template <class D, class W>
struct RowArgs {
  const Index* to;
  const W* weights;
  std::int64_t count;
  D from;
  const D* distances;
  Index* out_v;
  D* out_d;
};
template <class D, class W>
using Shortening = std::int64_t (*)(const RowArgs<D, W>&);
namespace avx512 {
template <class D, class W>
std::int64_t shortening(const RowArgs<D, W>&);
}

}  // namespace graph
}  // namespace penstock

#define PENSTOCK_FOR_EACH_SSSP(X) \
  X(std::uint32_t, One)           \
  X(std::uint32_t, std::uint8_t)  \
  X(std::uint32_t, std::uint16_t) \
  X(std::uint32_t, std::uint32_t) \
  X(float, float)                 \
  X(double, double)
