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
/// what one source adds is computed by one thread, and added up in the order of the sources. Throws
/// Error{invalid_argument} where paths are too many for the widest floating point numbers.
Array<double> betweenness(const CsrView<One>& a, std::span<const Index> sources,
                          const BetweennessOptions& options = {});

/// Throws Error{invalid_argument} unless the sums at `vertices` are, to a relative `tol`, what the definition says: counts
/// of the paths from each source to the vertex, from there on to each target, and from source to target. And unless all
/// sums together are what the distances say. Takes a search for each source and vertex, and memory for the latter.
void betweenness_verify(const CsrView<One>& a, std::span<const Index> sources,
                        std::span<const Index> vertices, std::span<const double> sums,
                        const BetweennessOptions& options, double tol);

}  // namespace penstock
