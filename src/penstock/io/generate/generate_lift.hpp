#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/io/generate/generate_gpu.hpp"
#include "penstock/io/generate/lift_rows.hpp"

namespace penstock {

struct LiftOptions {
  std::int64_t copies = 1;
  double mix = 0.05;  // share of the edges that lead to another copy
  std::uint64_t seed = 0;
};

/// The random lift of a square matrix: `copies` times as many rows, columns and entries. Rows are sorted; equal columns keep
/// the order that they have in `a`. Throws Error{invalid_argument}, and {out_of_memory} before it allocates.
template <class V>
Csr<V> generate_lift(const Csr<V>& a, const LiftOptions& options);

/// The rows of copy 0, from which all others follow (lift_rows.hpp).
template <class V>
Csr<V> first_copy(const Csr<V>& a, const LiftOptions& options);

/// The same matrix as generate_lift's, bit for bit, made in the memory of a GPU. `a` is in host memory.
template <class V>
MadeOnGpu<V> generate_lift_on(const OnGpu& where, const Csr<V>& a, const LiftOptions& options);

}  // namespace penstock

namespace penstock::gpu {

/// Writes the offsets, columns and values of a lift, all in the memory of the stream's GPU, which must be current. rows_of[k]
/// is the row of copy 0 that entry k is in.
template <class V>
void write_lift(const LiftView& a, Offset nnz, const Index* rows_of, const V* from, Offset* indptr,
                Index* indices, V* values, Stream stream);

}  // namespace penstock::gpu
