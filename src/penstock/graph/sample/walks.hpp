#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/sample/walker.hpp"

namespace penstock::graph {

struct PackedRows;

struct WalkOptions {
  std::int64_t length = 0;  // steps
  double restart = 0;       // the probability of a step back to the start
  bool weighted = false;    // edges are as likely as their values
  double p = 1, q = 1;      // node2vec: 1/p for the edge back, 1/q for edges that lead further away
  bool symmetric = false;   // every edge is there in both directions, and rows ascend without repeats
  std::uint64_t seed = 0;
};

/// What a walk does that has these options. `largest` as for random_walks.
template <bool kWeighted, bool kBiased, class V>
WalkRules<V, kWeighted, kBiased> walk_rules(const Offset* indptr, const Index* indices, const V* values,
                                            const double* largest, const WalkOptions& o) {
  return {indptr, indices,     values,  largest, Bias(o.p, o.q), threshold(o.restart),
          o.seed, o.symmetric, o.length};
}

constexpr bool is_biased(const WalkOptions& o) { return o.p != 1 || o.q != 1; }

/// Calls f.operator()<kWeighted, kBiased>() as the options say for values of type V.
template <class V, class F>
void with_kind(const WalkOptions& options, F&& f) {
  const auto go = [&]<bool kWeighted>() {
    if (is_biased(options)) f.template operator()<kWeighted, true>();
    else f.template operator()<kWeighted, false>();
  };
  if constexpr (!is_pattern<V>) {
    if (options.weighted) return go.template operator()<true>();
  }
  go.template operator()<false>();
}

/// The largest weight of each row, for `weighted`. Throws Error{invalid_argument} that names an edge whose weight is negative
/// or not finite.
template <class V>
Array<double> largest_weights(const Csr<V>& a);

/// Walks of length + 1 vertices one behind the other, -1 after a vertex without edges (or without positive weights). Walk i
/// depends on the seed, i and its start alone. `largest` is largest_weights(a), or empty where they are not read. With p or q
/// other than 1 the rows must ascend without repeats.
template <class V>
Array<Index> random_walks(const Csr<V>& a, std::span<const Index> starts, std::span<const double> largest,
                          const WalkOptions& options);

/// The same walks over the packed lists of a matrix whose rows ascend, which are decoded up to the entry that is drawn. For uniform
/// walks, with restart.
Array<Index> packed_walks(const PackedRows& lists, std::span<const Index> starts, const WalkOptions& options);

/// Where walks from `source` end that stop with probability 1 - damping before each step, and go on from `source` after a
/// vertex without edges: an end is distributed as the personalised PageRank.
template <class V>
Array<Index> walk_ends(const Csr<V>& a, Index source, std::int64_t walks, double damping,
                       std::span<const double> largest, bool weighted, std::uint64_t seed);

}  // namespace penstock::graph
