#include "penstock/schedule/multiply_columns.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/schedule/drive_rings.hpp"
#include "penstock/schedule/multiply_columns_gpu.hpp"

namespace penstock {
namespace {

struct DenseShape {
  std::int64_t rows = 0, cols = 0;
};

/// Checks what every product checks and starts its trace. It knows no semiring, so that few of it are compiled.
template <class V>
void begin(const Csr<V>& a, DenseShape x, DenseShape y, std::int64_t entry_bytes, bool reads_y,
           const Schedule& schedule, Trace& t) {
  const auto text = [](const auto& m) { return std::to_string(m.rows) + " x " + std::to_string(m.cols); };
  require(x.rows == a.cols && y.rows == a.rows && x.cols == y.cols,
          "multiply: X is " + text(x) + " and Y " + text(y) + " for a matrix of " + text(a));
  check_matrix(schedule, a);
  t = {.schedule = std::string(name(schedule)), .kernel = "balanced"};
  t.kernel_bytes = least_bytes(a, entry_bytes * x.cols, reads_y);
}
template <Semiring S, class V>
void begin(const Csr<V>& a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
           const Schedule& schedule, Scale<S> scale, Trace& t) {
  begin(a, {x.rows, x.cols}, {y.rows, y.cols}, sizeof(typename S::value_type), !(scale.beta == S::zero()),
        schedule, t);
}

bool all_on_host(const Schedule& schedule) {
  if (const auto* s = std::get_if<Streamed>(&schedule))
    return std::none_of(s->devices.begin(), s->devices.end(), [](Where w) { return w.is_gpu(); });
  return !first_device(schedule).is_gpu();
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

/// The host's rings (drive_rings.hpp), their tiles multiplied with all of X.
template <Semiring S, class V>
void stream(const Csr<V>& a, DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
            const Streamed& settings, Scale<S> scale, Trace& t) {
  const auto blocks = streamed_blocks(a, settings);
  Array<typename S::value_type> memory;
  const auto xs = packed(x, memory);
  PieceRows<S> pieces(blocks, x.cols);
  drive_rings<V>(a, blocks, settings, t, [&](Ring<V>& ring, Stream here, Trace& mine) {
    each_tile<V>(ring, here, mine, [&](const Tile<V>& tile) {
      const auto& b = tile.block;
      if (b.piece) spmm_tile<S, V>(tile.view, xs, pieces.cell(tile.number), {});
      else spmm_tile<S, V>(tile.view, xs, y.from_row(b.first_row), scale);
    });
  });
  pieces.finish(y, scale);
}

}  // namespace

template <Semiring S, class V>
void multiply_columns(const Csr<V>& a, DenseView<const typename S::value_type> x,
                      DenseView<typename S::value_type> y, const Schedule& schedule, Scale<S> scale,
                      Trace* trace, std::int64_t device_memory) {
  Trace local;
  Trace& t = trace ? *trace : local;
  begin<S>(a, x, y, schedule, scale, t);
  const ScopedTimer timer(&t.seconds);
  if (x.cols == 0) return;
  if (!all_on_host(schedule)) return multiply_columns_gpu<S, V>(a, x, y, schedule, scale, t, device_memory);
  if (const auto* s = std::get_if<Streamed>(&schedule)) return stream<S, V>(a, x, y, *s, scale, t);
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
