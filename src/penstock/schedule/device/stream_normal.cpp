#include "penstock/schedule/device/stream_normal.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/spmm/sddmm.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/schedule/drive_rings.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kHomeRows = 4096;  // that a thread takes from where they have landed

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

template <class T, class V>
void stream_home(const Csr<V>& a, DenseView<const T> x, DenseView<T> y, const Streamed& settings,
                 Stream stream, Trace& trace) {
  using S = PlusTimes<T>;
  require(x.rows == a.cols && y.rows == a.rows && x.cols == y.cols && x.row_major() && y.row_major() &&
              y.row_step == y.cols,
          "stream_home: X and Y are row-major and fit the matrix");
  require(settings.devices.size() == 1 && settings.devices[0] == stream.where &&
              (stream.where.is_gpu() || host_rings(settings) == 1),
          "stream_home: the schedule names the stream's device alone, and has one ring");
  check_matrix(settings, a);
  trace = {.schedule = "streamed", .kernel = "merge_path"};
  trace.kernel_bytes = least_bytes(a, std::int64_t(sizeof(T)) * x.cols, false);
  const ScopedTimer timer(&trace.seconds);
  if (y.rows == 0 || y.cols == 0) return;
  const OwnedEvent ready(stream.where);
  record(ready, stream);
  const auto blocks = normal_blocks(a, settings, y.cols * std::int64_t(sizeof(T)));
  std::int64_t most = 1;
  for (const auto& b : blocks) most = std::max(most, b.piece ? 1 : b.rows);
  const auto place = stream.where.is_gpu() ? Place{Memory::pinned} : Place{};
  const auto staged = reuse_bytes(2 * most * y.cols * std::int64_t(sizeof(T)), place);
  const Products<T> some(2 * most, y.cols, stream);
  drive_rings<V>(a, blocks, settings, trace, [&](Ring<V>& ring, Stream compute, Trace& mine) {
    const OwnedStream home(stream.where);
    const OwnedEvent made[2] = {OwnedEvent(stream.where), OwnedEvent(stream.where)};
    const OwnedEvent landed[2] = {OwnedEvent(stream.where), OwnedEvent(stream.where)};
    const RowBlock* waiting[2] = {nullptr, nullptr};
    const auto stage = [&](int side) { return static_cast<T*>(staged.get()) + side * most * y.cols; };
    const auto land = [&](int side) {
      const auto* b = std::exchange(waiting[side], nullptr);
      if (!b) return;
      synchronize(landed[side]);
      parallel_ranges(b->rows, kHomeRows, [&](std::int64_t first, std::int64_t last) {
        std::copy_n(stage(side) + first * y.cols, (last - first) * y.cols,
                    y.data + (b->first_row + first) * y.cols);
      });
    };
    wait(compute, ready);
    int side = 0;
    each_tile<V>(ring, compute, mine, [&](const Tile<V>& tile) {
      const auto& b = tile.block;
      const auto number = at(tile.number);
      const auto same = [&](std::size_t i) {
        return i < blocks.size() && b.piece && blocks[i].piece && blocks[i].first_row == b.first_row;
      };
      const bool goes_on = number > 0 && same(number - 1);
      if (!goes_on) {
        side = 1 - side;
        land(side);
        wait(compute, landed[side]);
      }
      const auto rows = some.rows(side * most, b.rows);
      spmm_on<S, V>(tile.view, x, rows, {.alpha = T(1), .beta = T(goes_on)}, compute);
      if (same(number + 1)) return;
      record(made[side], compute);
      wait(home, made[side]);
      const auto bytes = b.rows * y.cols * std::int64_t(sizeof(T));
      copy_async(stage(side), rows.data, bytes, home);
      record(landed[side], home);
      if (stream.where.is_gpu()) mine.link_bytes += bytes;
      waiting[side] = &blocks[number];
    });
    land(0), land(1);
  });
}

#define X(T, V)                                                                                             \
  template void stream_normal<T, V>(const Csr<V>&, DenseView<const T>, DenseView<T>, double,                \
                                    const Streamed&, Stream, Trace&);                                       \
  template void stream_home<T, V>(const Csr<V>&, DenseView<const T>, DenseView<T>, const Streamed&, Stream, \
                                  Trace&);
PENSTOCK_FOR_EACH_REAL_BLOCK(X)
#undef X

}  // namespace penstock
