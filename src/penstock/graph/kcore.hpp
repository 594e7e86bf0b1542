#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// Whether rows ascend strictly and no row names itself: no duplicates, no self loops.
bool is_simple(const CsrView<One>& a);

/// The core number of every vertex: the largest k such that the vertex is in a subgraph in which every vertex has at least k
/// neighbours. `a` is simple and symmetric. The result depends on the graph alone, not on the number of threads.
Array<Index> core_number(const CsrView<One>& a);

/// Throws Error{invalid_argument} naming the first fault; independent of core_number(). `a` is simple and symmetric.
void core_verify(const CsrView<One>& a, std::span<const Index> cores);

}  // namespace penstock
