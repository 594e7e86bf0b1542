#pragma once
#include <span>

#include "penstock/format/csr.hpp"
#include "penstock/graph/pagerank/pagerank.hpp"

namespace penstock {

/// personalized_pagerank() with vectors on a device, which reads all of the matrix, in its memory or pinned; the CPU is a device,
/// too. Sources are taken together as far as `room` bytes hold their vectors: 24 a vertex and source. Sums have orders of their own,
/// so the bits are the same in every run, and differ from the CPU's. Throws Error{not_accessible} for a matrix that the device cannot
/// read, and Error{out_of_memory} where one source exceeds the room.
template <class V>
PageRankResult personalized_pagerank_on(const Csr<V>& in, std::span<const double> out,
                                        std::span<const Index> sources, const PageRankOptions& options,
                                        Where where, std::int64_t room);

}  // namespace penstock
