// One ring brings the blocks in ascending order, so the pieces of a long row may be added to Y one after the other.
#include "penstock/schedule/device/stream_columns.hpp"

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmm/sddmm.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/schedule/drive_rings.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock {

template <class T, class V>
void stream_columns(const Csr<V>& a, DenseView<const T> x, DenseView<T> y, const Streamed& settings,
                    Scale<PlusTimes<T>> scale, Stream stream, Trace& trace) {
  using S = PlusTimes<T>;
  require(x.rows == a.cols && y.rows == a.rows && x.cols == y.cols && x.row_major() && y.row_major(),
          "stream_columns: X and Y are row-major and fit the matrix");
  require(settings.devices.size() == 1 && settings.devices[0] == stream.where &&
              (stream.where.is_gpu() || host_rings(settings) == 1),
          "stream_columns: the schedule names the stream's device alone, and has one ring");
  check_matrix(settings, a);
  trace = {.schedule = "streamed", .kernel = "merge_path"};
  trace.kernel_bytes = least_bytes(a, std::int64_t(sizeof(T)) * x.cols, !(scale.beta == S::zero()));
  const ScopedTimer timer(&trace.seconds);
  if (x.cols == 0) return;
  const auto blocks = streamed_blocks(a, settings);
  const OwnedEvent ready(stream.where);
  record(ready, stream);
  drive_rings<V>(a, blocks, settings, trace, [&](Ring<V>& ring, Stream compute, Trace& mine) {
    wait(compute, ready);
    each_tile<V>(ring, compute, mine, [&](const Tile<V>& tile) {
      const auto& b = tile.block;
      const auto* before = tile.number > 0 ? &blocks[at(tile.number - 1)] : nullptr;
      auto factors = scale;
      if (b.piece && before && before->piece && before->first_row == b.first_row) factors.beta = T(1);
      const DenseView<T> rows{y.data + b.first_row * y.row_step, b.rows, y.cols, y.row_step, 1};
      spmm_on<S, V>(tile.view, x, rows, factors, compute);
    });
  });
}

#define X(T, V)                                                                                        \
  template void stream_columns<T, V>(const Csr<V>&, DenseView<const T>, DenseView<T>, const Streamed&, \
                                     Scale<PlusTimes<T>>, Stream, Trace&);
PENSTOCK_FOR_EACH_SDDMM(X)
#undef X

}  // namespace penstock
