#pragma once
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock {

/// Y = alpha A X + beta Y over S for several columns, X and Y in host memory in any layout, not overlapping. On the CPU the
/// matrix is read, or streamed, once for all columns (in core: for a panel of them). On a GPU X goes up once and every tile
/// is multiplied with all of it; columns go in chunks where X and Y do not fit the GPU's free memory, or `device_memory` bytes
/// of it where that is not 0. Throws as `multiply` does, and Error{out_of_memory} where that is too little for one column.
template <Semiring S, class V>
void multiply_columns(const Csr<V>& a, DenseView<const typename S::value_type> x,
                      DenseView<typename S::value_type> y, const Schedule& schedule = InCore{},
                      Scale<S> scale = {}, Trace* trace = nullptr, std::int64_t device_memory = 0);

/// The same in core on the CPU. `automatic` and `balanced` are SpMM; another algorithm's plan takes a column at a time.
template <Semiring S, class V>
void multiply_columns(const Csr<V>& a, DenseView<const typename S::value_type> x,
                      DenseView<typename S::value_type> y, SpmvPlans<V>& plans, SpmvAlgorithm algorithm,
                      Scale<S> scale = {}, Trace* trace = nullptr);

}  // namespace penstock
