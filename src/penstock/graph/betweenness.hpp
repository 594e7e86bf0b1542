#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

struct BetweennessOptions {
  bool endpoints = false;  // a path counts for its ends, too
};

/// For each vertex the sum over `sources` and all targets of the share of shortest paths (by number of edges) that lead
/// through it. Duplicates are one edge, self loops none: `a` must have neither. The same bits for any number of threads:
/// what one source adds is computed by one thread, and added up in the order of the sources.
Array<double> betweenness(const CsrView<One>& a, std::span<const Index> sources,
                          const BetweennessOptions& options = {});

/// Throws Error{invalid_argument} unless `centrality` is what definition and brute force say, to a relative `tol`: path
/// counts between all pairs, in O(n^2) memory and O(n^3) time. For graphs of at most 2000 vertices.
void betweenness_verify(const CsrView<One>& a, std::span<const Index> sources,
                        std::span<const double> centrality, const BetweennessOptions& options, double tol);

}  // namespace penstock
