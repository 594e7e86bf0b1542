#pragma once
#include "penstock/core/trace.hpp"
#include "penstock/kernel/spmm/add_transposed.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock {

/// Z = B^T B X for B = factor A, where X and Z are in the memory of one GPU, row-major, Z without gaps, and the entries of A, in host memory, are
/// streamed through it once: a block of rows makes its rows of B X, which never leave the GPU, and adds what they give to Z.
/// Rows that are too long for a slot cross the link twice. `settings` names that GPU alone; rows of B X take at most
/// kNormalSlots slots beside the ring. The work begins after what is on `stream`, and is done when the call returns. Sums on a
/// GPU are atomic, so last bits may differ from run to run. Throws what `check` throws, of A's place.
template <class T, class V>
void stream_normal(const Csr<V>& a, DenseView<const T> x, DenseView<T> z, double factor,
                   const Streamed& settings, Stream stream, Trace& trace);

inline constexpr std::int64_t kNormalSlots = 2;

/// Y = A X where X is in the memory of one GPU, as above, and Y, row-major without gaps, in host memory: its rows travel home
/// while later blocks come, so that the GPU never holds more of Y than 2 kNormalSlots slots.
template <class T, class V>
void stream_home(const Csr<V>& a, DenseView<const T> x, DenseView<T> y, const Streamed& settings,
                 Stream stream, Trace& trace);

}  // namespace penstock
