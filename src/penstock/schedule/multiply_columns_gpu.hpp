#pragma once
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/schedule/column_chunks.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock {

/// multiply_columns where at least one device is a GPU: X goes up once, every tile is multiplied with all of it, Y comes down.
/// Where X and Y do not fit the memory that a GPU has free, or `device_memory` (0: all that is free), columns go in chunks,
/// each a walk over the matrix. Shapes and places are checked already; adds to `trace`.
template <Semiring S, class V>
void multiply_columns_gpu(const Csr<V>& a, DenseView<const typename S::value_type> x,
                          DenseView<typename S::value_type> y, const Schedule& schedule, Scale<S> scale,
                          Trace& trace, std::int64_t device_memory = 0);

}  // namespace penstock
