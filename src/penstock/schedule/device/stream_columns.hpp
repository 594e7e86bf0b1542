#pragma once
#include "penstock/core/trace.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock {

/// Y = alpha A X + beta Y where X and Y are in the memory of one GPU, row-major with any row step, and the entries of A, in
/// host memory, are streamed through it. `settings` names that GPU alone. The work begins after what is on `stream`, and the
/// call returns when it is done. Rows that are too long for a slot are added up in order, so the bits are the same in every
/// run. Shapes must fit; throws what `check` throws, of A's place.
template <class T, class V>
void stream_columns(const Csr<V>& a, DenseView<const T> x, DenseView<T> y, const Streamed& settings,
                    Scale<PlusTimes<T>> scale, Stream stream, Trace& trace);

}  // namespace penstock
