#include "penstock/schedule/device/stream_normal.hpp"

#include <algorithm>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/spmm/sddmm.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/schedule/drive_rings.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock {
namespace {

/// Blocks that fit a slot, and whose rows of A X, `row_bytes` each, take kNormalSlots slots at most.
template <class V>
std::vector<RowBlock> normal_blocks(const Csr<V>& a, const Streamed& settings, std::int64_t row_bytes) {
  auto shape = csr_block_shape<V>(slot_bytes(settings));
  const auto of_row = (row_bytes + kNormalSlots - 1) / kNormalSlots;
  shape.row_cost += std::min(of_row, shape.budget / 4);  // in small slots a row of A X is larger than a slot
  return row_blocks(a.indptr.span(), shape);
}

template <class T>
class Products {
 public:
  Products(std::int64_t rows, std::int64_t columns, Stream stream)
      : owner_(reuse_bytes(std::max<std::int64_t>(rows * columns, 1) * std::int64_t(sizeof(T)),
                           device_place(stream.where))),
        columns_(columns),
        where_(stream.where) {}
  /// After an exception kernels may still be at work here.
  ~Products() { drain(where_); }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  DenseView<T> rows(std::int64_t first, std::int64_t count) const {
    return {static_cast<T*>(owner_.get()) + first * columns_, count, columns_, columns_, 1};
  }

 private:
  std::shared_ptr<void> owner_;
  std::int64_t columns_;
  Where where_;
};

template <class T>
DenseView<const T> read(const DenseView<T>& y) {
  return {y.data, y.rows, y.cols, y.row_step, y.col_step};
}

}  // namespace

template <class T, class V>
void stream_normal(const Csr<V>& a, DenseView<const T> x, DenseView<T> z, double factor,
                   const Streamed& settings, Stream stream, Trace& trace) {
  using S = PlusTimes<T>;
  require(x.rows == a.cols && z.rows == a.cols && x.cols == z.cols && x.row_major() && z.row_major() &&
              z.row_step == z.cols,
          "stream_normal: X and Z are row-major and have a row for each column of the matrix");
  require(settings.devices.size() == 1 && settings.devices[0] == stream.where &&
              (stream.where.is_gpu() || host_rings(settings) == 1),
          "stream_normal: the schedule names the stream's device alone, and has one ring");
  check_matrix(settings, a);
  trace = {.schedule = "streamed", .kernel = "merge_path, transposed"};
  trace.kernel_bytes = least_bytes(a, std::int64_t(sizeof(T)) * x.cols, false);
  const ScopedTimer timer(&trace.seconds);
  const auto alpha = static_cast<T>(factor);
  if (z.rows == 0 || z.cols == 0) return;
  fill_async(z.data, 0, z.rows * z.cols * std::int64_t(sizeof(T)), stream);
  const OwnedEvent ready(stream.where);
  record(ready, stream);
  const auto blocks = normal_blocks(a, settings, z.cols * std::int64_t(sizeof(T)));
  std::vector<RowBlock> pieces;
  std::vector<std::int64_t> long_row(blocks.size(), -1);  // which of the long rows a piece is of
  std::int64_t most = 0, long_rows = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& b = blocks[i];
    if (!b.piece) {
      most = std::max(most, b.rows);
      continue;
    }
    if (pieces.empty() || pieces.back().first_row != b.first_row) ++long_rows;
    long_row[i] = long_rows - 1;
    pieces.push_back(b);
  }
  const Products<T> some(most, z.cols, stream), complete(long_rows, z.cols, stream);
  drive_rings<V>(a, blocks, settings, trace, [&](Ring<V>& ring, Stream compute, Trace& mine) {
    wait(compute, ready);
    each_tile<V>(ring, compute, mine, [&](const Tile<V>& tile) {
      const auto number = at(tile.number);
      if (const auto which = long_row[number]; which >= 0) {
        const bool goes_on = number > 0 && long_row[number - 1] == which;
        spmm_on<S, V>(tile.view, x, complete.rows(which, 1), {.alpha = alpha, .beta = T(goes_on)}, compute);
        return;
      }
      const auto y = some.rows(0, tile.block.rows);
      spmm_on<S, V>(tile.view, x, y, {.alpha = alpha}, compute);
      add_transposed_on<T, V>(tile.view, read(y), z, alpha, compute);
    });
  });
  if (pieces.empty()) return;
  std::vector<std::int64_t> row_of_piece;
  for (const auto which : long_row)
    if (which >= 0) row_of_piece.push_back(which);
  drive_rings<V>(a, pieces, settings, trace, [&](Ring<V>& ring, Stream compute, Trace& mine) {
    each_tile<V>(ring, compute, mine, [&](const Tile<V>& tile) {
      const auto y = complete.rows(row_of_piece[at(tile.number)], 1);
      add_transposed_on<T, V>(tile.view, read(y), z, alpha, compute);
    });
  });
}

#define X(T, V)                                                                              \
  template void stream_normal<T, V>(const Csr<V>&, DenseView<const T>, DenseView<T>, double, \
                                    const Streamed&, Stream, Trace&);
PENSTOCK_FOR_EACH_REAL_BLOCK(X)
#undef X

}  // namespace penstock
