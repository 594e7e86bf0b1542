#pragma once
#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"

namespace penstock {

/// Levels from `source` over packed lists, kUnreached where there is no path: on one thread of the CPU, top-down alone. It is
/// what searches of packed lists on GPUs are compared with.
Array<Index> bfs_packed(const PackedLists& lists, Index source);

}  // namespace penstock
