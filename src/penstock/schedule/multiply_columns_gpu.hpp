#pragma once
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock {

/// multiply_columns where at least one device is a GPU: X goes up once, every tile is multiplied with all of it, Y comes down.
/// Where X and Y do not fit the memory that a GPU has free, or `device_memory` (0: all that is free), columns go in chunks,
/// each a walk over the matrix. Shapes and places are checked already; adds to `trace`.
template <Semiring S, class V>
void multiply_columns_gpu(const Csr<V>& a, DenseView<const typename S::value_type> x,
                          DenseView<typename S::value_type> y, const Schedule& how, Scale<S> scale,
                          Trace& trace, std::int64_t device_memory = 0);

/// Columns of a chunk: as many as `free_bytes` hold beside `other_bytes`, whole panels of 32 where it can be, at least one.
std::int64_t chunk_columns(std::int64_t columns, std::int64_t bytes_per_column, std::int64_t free_bytes,
                           std::int64_t other_bytes);

/// The same within a budget. Throws Error{out_of_memory} where it does not hold one column.
std::int64_t chunk_columns_within(std::int64_t device_memory, std::int64_t columns,
                                  std::int64_t bytes_per_column, std::int64_t other_bytes);

}  // namespace penstock
