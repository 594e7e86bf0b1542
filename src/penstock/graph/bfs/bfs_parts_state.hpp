#pragma once
#include "penstock/graph/bfs/bfs_gpu_state.hpp"

namespace penstock::gpu {

/// to |= from, word by word.
void unite(Bits* to, const Bits* from, std::int64_t words, Stream stream);
/// Copies from `from` the predecessors that are missing in `parents`.
void fill_parents(Index* parents, const Index* from, std::int64_t vertices, Stream stream);

}  // namespace penstock::gpu
