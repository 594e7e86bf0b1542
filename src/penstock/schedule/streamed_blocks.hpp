#pragma once
#include <vector>

#include "penstock/format/csr.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/schedule/schedule.hpp"

// How the drivers of streamed products (multiply, multiply_columns) check a matrix and cut it into blocks for a ring.
namespace penstock {

/// Throws what `check` throws, of each of the matrix's arrays. Every array has a place of its own. A GPU gets row offsets
/// that it does not hold sent to it (8 bytes a row, read twice by its kernel); the CPU's kernels and the cut into blocks
/// read them where they are.
template <class V>
void check_matrix(const Schedule& schedule, const Csr<V>& a);

/// A host device has a ring a thread: each copies and computes in its own cache, and none waits for another. There are
/// fewer rings where `ring_bytes` does not hold so many.
std::int64_t host_rings(const Streamed& settings);

/// The bytes of one slot, its padding not counted. Where `block_bytes` is 0, that is a cache-sized piece on the CPU and
/// 64 MiB on a GPU. It is less where `ring_bytes` does not hold `slots` of them, but never less than one nonzero.
std::int64_t slot_bytes(const Streamed& settings);

/// The rows cut so that each block fits a slot.
template <class V>
std::vector<RowBlock> streamed_blocks(const Csr<V>& a, const Streamed& settings);

}  // namespace penstock
