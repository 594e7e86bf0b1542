#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

struct BetweennessOptions {
  bool endpoints = false;  // whether a path counts for its two ends, too
};

/// For each vertex, the sum over `sources` and all targets of the share of shortest paths (by number of edges) that lead
/// through it. `a` must have neither duplicates nor self loops. The bits are the same for any number of threads: one thread
/// computes what a source adds, and these are added up in the order of the sources. Throws Error{invalid_argument} if there
/// are too many paths for the widest floating point numbers.
Array<double> betweenness(const CsrView<One>& a, std::span<const Index> sources,
                          const BetweennessOptions& options = {});

/// For each entry of `a`, the sum over `sources` and all targets of the share of shortest paths that lead over this edge. `a`
/// must have no duplicates; self loops get 0. The bits are the same for any number of threads: sources are dealt out to a fixed
/// number of sums (up to 16, as many as fit 256 MB), which are added up in order. Throws as `betweenness` does.
Array<double> edge_betweenness(const CsrView<One>& a, std::span<const Index> sources);

/// Throws Error{invalid_argument} unless the sums at `vertices` are, to a relative `tol`, what the definition gives from
/// counts of paths from each source to the vertex, from the vertex to each target, and from source to target. It also throws
/// unless all sums together are what the distances give. Takes a search for each source and each vertex, and memory for the
/// latter.
void betweenness_verify(const CsrView<One>& a, std::span<const Index> sources,
                        std::span<const Index> vertices, std::span<const double> sums,
                        const BetweennessOptions& options, double tol);

}  // namespace penstock
