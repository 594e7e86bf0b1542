#pragma once
#include <span>
#include <vector>

#include "penstock/core/trace.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmv/spmv_plan.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock {

/// y = alpha A x + beta y over S, for a matrix anywhere, walked as `how` says. x has A.cols entries, y A.rows, both in
/// host memory and not overlapping. Throws Error{invalid_argument} on shapes, Error{not_accessible} where
/// check(how, place) refuses. `trace` (may be null) is overwritten.
template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              const Schedule& how = InCore{}, Scale<S> scale = {}, Trace* trace = nullptr);

/// The same in core on the CPU, by an algorithm that may use (and build) the matrix's plans.
template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              SpmvPlans<V>& plans, SpmvAlgorithm algorithm, Scale<S> scale = {}, Trace* trace = nullptr);

/// The least bytes that one product reads and writes: the matrix and x once, y once (twice where beta is not zero).
template <class V>
std::int64_t least_bytes(const Csr<V>& a, std::int64_t vector_entry_bytes, bool reads_y = false) {
  return a.bytes() + (a.cols + (reads_y ? 2 : 1) * a.rows) * vector_entry_bytes;
}

// What the drivers of products share.

/// Throws what `check` throws, of each of the matrix's arrays. Every array has a place of its own. A GPU gets row offsets
/// that it does not hold sent to it (8 bytes a row, read twice by its kernel); the CPU's kernels and the cut into blocks
/// read them where they are.
template <class V>
void check_matrix(const Schedule& how, const Csr<V>& a);

Where first_device(const Schedule& how);

/// A host device has a ring a thread: each copies and computes in its own cache, and none waits for another. Fewer
/// where `ring_bytes` does not hold so many.
std::int64_t host_rings(const Streamed& how);

/// The rows cut so that each block fits a slot.
template <class V>
std::vector<RowBlock> streamed_blocks(const Csr<V>& a, const Streamed& how);

/// The bytes of one slot that Streamed uses when its own member is 0: a cache-sized piece on the CPU, 64 MiB on a GPU,
/// less where `ring_bytes` does not hold `slots` of them. At least one nonzero.
std::int64_t slot_bytes(const Streamed& how);

}  // namespace penstock
