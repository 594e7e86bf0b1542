#include "penstock/schedule/multiply_columns.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/schedule/multiply_columns_gpu.hpp"
#include "penstock/schedule/ring.hpp"

namespace penstock {
namespace {

template <Semiring S, class V>
void begin(const Csr<V>& a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
           const Schedule& how, Scale<S> scale, Trace& t) {
  const auto shape = [](const auto& m) { return std::to_string(m.rows) + " x " + std::to_string(m.cols); };
  require(x.rows == a.cols && y.rows == a.rows && x.cols == y.cols,
          "multiply: X is " + shape(x) + " and Y " + shape(y) + " for a matrix of " + shape(a));
  check_matrix(how, a);
  t = {.schedule = std::string(name(how)), .kernel = "balanced"};
  t.kernel_bytes =
      least_bytes(a, std::int64_t(sizeof(typename S::value_type)) * x.cols, !(scale.beta == S::zero()));
}

bool all_on_host(const Schedule& how) {
  if (const auto* s = std::get_if<Streamed>(&how))
    return std::none_of(s->devices.begin(), s->devices.end(), [](Where w) { return w.is_gpu(); });
  return !first_device(how).is_gpu();
}

/// `one(x, y, trace)` for each column, in contiguous copies of its own.
template <Semiring S, class F>
void by_columns(DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y, bool reads_y,
                Trace& total, F one) {
  using T = typename S::value_type;
  const auto from = allocate<T>(x.rows), to = allocate<T>(y.rows);
  for (std::int64_t j = 0; j < x.cols; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) from.data[i] = x.data[i * x.row_step + j * x.col_step];
    if (reads_y)
      for (std::int64_t i = 0; i < y.rows; ++i) to.data[i] = y.data[i * y.row_step + j * y.col_step];
    Trace t;
    one(std::span<const T>(from.span()), to.span(), t);
    for (std::int64_t i = 0; i < y.rows; ++i) y.data[i * y.row_step + j * y.col_step] = to.data[i];
    const auto before = total;
    total = t;
    total.tiles += before.tiles, total.seconds += before.seconds, total.copy_seconds += before.copy_seconds;
    total.copied_bytes += before.copied_bytes, total.link_bytes += before.link_bytes;
    total.kernel_bytes += j > 0 ? before.kernel_bytes : 0;
  }
}

/// The host's rings (multiply.cpp says how they work), their tiles multiplied with all of X.
template <Semiring S, class V>
void stream(const Csr<V>& a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
            const Streamed& how, Scale<S> scale, Trace& t) {
  using T = typename S::value_type;
  const auto blocks = streamed_blocks(a, how);
  Array<T> memory;
  const auto xs = packed(x, memory);
  PieceRows<S> pieces(blocks, x.cols);
  std::atomic<std::int64_t> next = 0;
  std::mutex lock;
  const auto rings = host_rings(how) * std::ssize(how.devices);
  parallel_for(rings, [&](std::int64_t) {
    Trace mine;
    {
      const OwnedStream here(Where{});
      Ring<V> ring(a, blocks, next, Where{}, how.slots, &mine);
      while (auto tile = ring.acquire(here)) {
        poll_interrupt();
        const auto& b = tile->block;
        if (b.piece) spmm_tile<S, V>(tile->view, xs, pieces.cell(tile->number), {});
        else spmm_tile<S, V>(tile->view, xs, y.from_row(b.first_row), scale);
        ring.release(*tile, here);
        ++mine.tiles;
      }
    }
    const std::lock_guard guard(lock);
    t.tiles += mine.tiles, t.copied_bytes += mine.copied_bytes, t.ring_bytes += mine.ring_bytes;
    t.copy_seconds += mine.copy_seconds;
  });
  pieces.finish(y, scale);
}

}  // namespace

template <Semiring S, class V>
void multiply_columns(const Csr<V>& a, DenseView<const typename S::value_type> x,
                      DenseView<typename S::value_type> y, const Schedule& how, Scale<S> scale, Trace* trace,
                      std::int64_t device_memory) {
  Trace local;
  Trace& t = trace ? *trace : local;
  begin<S>(a, x, y, how, scale, t);
  const ScopedTimer timer(&t.seconds);
  if (x.cols == 0) return;
  if (!all_on_host(how)) return multiply_columns_gpu<S, V>(a, x, y, how, scale, t, device_memory);
  if (const auto* s = std::get_if<Streamed>(&how)) return stream<S, V>(a, x, y, *s, scale, t);
  spmm<S, V>(a.view(), x, y, scale);
  t.tiles = 1;
}

template <Semiring S, class V>
void multiply_columns(const Csr<V>& a, DenseView<const typename S::value_type> x,
                      DenseView<typename S::value_type> y, SpmvPlans<V>& plans, SpmvAlgorithm algorithm,
                      Scale<S> scale, Trace* trace) {
  using T = typename S::value_type;
  if (algorithm == SpmvAlgorithm::automatic || algorithm == SpmvAlgorithm::balanced)
    return multiply_columns<S, V>(a, x, y, InCore{}, scale, trace);
  Trace local;
  Trace& t = trace ? *trace : local;
  begin<S>(a, x, y, InCore{}, scale, t);
  by_columns<S>(x, y, !(scale.beta == S::zero()), t, [&](std::span<const T> xj, std::span<T> yj, Trace& one) {
    multiply<S, V>(a, xj, yj, plans, algorithm, scale, &one);
  });
}

#define X(S, V)                                                                                          \
  template void multiply_columns<S, V>(const Csr<V>&, DenseView<const S::value_type>,                    \
                                       DenseView<S::value_type>, const Schedule&, Scale<S>, Trace*,      \
                                       std::int64_t);                                                    \
  template void multiply_columns<S, V>(const Csr<V>&, DenseView<const S::value_type>,                    \
                                       DenseView<S::value_type>, SpmvPlans<V>&, SpmvAlgorithm, Scale<S>, \
                                       Trace*);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
