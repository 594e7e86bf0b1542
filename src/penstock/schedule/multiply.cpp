// One product y = alpha A x + beta y under any schedule. The matrix comes as tiles, and a tile's rows are multiplied by one
// call of the kernel. In core the whole matrix is the only tile; streamed, tiles come out of rings (drive_rings.hpp). The CPU
// reads and writes the caller's own x and y. A GPU has copies of both, and each tile's rows of y come back as soon as they are
// computed. A row that is too long for a slot comes in pieces; their sums are added at the end, in order.
#include "penstock/schedule/multiply.hpp"

#include <optional>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/pieces.hpp"
#include "penstock/schedule/drive_rings.hpp"
#include "penstock/schedule/gpu_operands.hpp"
#include "penstock/schedule/resident.hpp"

namespace penstock {
namespace {

/// One product's vectors in host memory, and how y is updated.
template <Semiring S>
struct Operands {
  using T = typename S::value_type;
  std::span<const T> x;
  std::span<T> y;
  Scale<S> scale;
  bool reads_y() const { return !(scale.beta == S::zero()); }
};

/// One ring's share, or the whole matrix in core: every tile that the source hands out.
template <Semiring S, class V, TileSource<V> Source>
void multiply_tiles(Source& source, const Operands<S>& o, Pieces<S>& pieces, Stream stream, Trace& trace) {
  using T = typename S::value_type;
  std::optional<GpuOperands<T>> gpu;
  if (stream.where.is_gpu())
    gpu.emplace(HostOperands<T>{o.x.data(), std::ssize(o.x), o.y.data(), std::ssize(o.y)}, stream, trace);
  each_tile<V>(source, stream, trace, [&](const Tile<V>& tile) {
    const auto& b = tile.block;
    if (!gpu) {
      if (b.piece) spmv<S, V>(tile.view, o.x.data(), pieces.cell(tile.number), Scale<S>{}, stream);
      else spmv<S, V>(tile.view, o.x.data(), o.y.data() + b.first_row, o.scale, stream);
    } else if (b.piece) {
      spmv<S, V>(tile.view, gpu->x(), gpu->cell(), Scale<S>{}, stream);
      gpu->bring_back_cell(pieces.cell(tile.number));
    } else {
      if (o.reads_y()) gpu->take_rows(b.first_row, b.rows);
      spmv<S, V>(tile.view, gpu->x(), gpu->y(b.first_row), o.scale, stream);
      gpu->bring_back_rows(b.first_row, b.rows);
    }
  });
}

template <Semiring S, class V>
void multiply_in_place(const Csr<V>& a, const Operands<S>& operands, Where where, Trace& trace) {
  const OwnedStream stream(where);
  Pieces<S> none({});
  const auto placed = with_offsets_on(stream, a, trace);
  trace.link_bytes += linked_entry_bytes(a, where);
  Resident<V> whole(placed);
  multiply_tiles<S, V>(whole, operands, none, stream, trace);
}

template <Semiring S, class V>
void multiply_streamed(const Csr<V>& a, const Operands<S>& operands, const Streamed& settings, Trace& trace) {
  const auto blocks = streamed_blocks(a, settings);
  Pieces<S> pieces(blocks);
  drive_rings<V>(a, blocks, settings, trace, [&](Ring<V>& ring, Stream stream, Trace& mine) {
    multiply_tiles<S, V>(ring, operands, pieces, stream, mine);
  });
  pieces.finish(operands.y.data(), operands.scale);
}

/// Checks what every product checks and starts its trace. It knows no semiring, so that few of it are compiled.
template <class V>
void begin(const Csr<V>& a, std::int64_t x_size, std::int64_t y_size, std::int64_t entry_bytes, bool reads_y,
           const Schedule& schedule, Trace& t) {
  require(x_size == a.cols, "multiply: x has " + std::to_string(x_size) + " entries, the matrix has " +
                                std::to_string(a.cols) + " columns");
  require(y_size == a.rows, "multiply: y has " + std::to_string(y_size) + " entries, the matrix has " +
                                std::to_string(a.rows) + " rows");
  check_matrix(schedule, a);
  const bool gpu = first_device(schedule).is_gpu();
  t = {.schedule = std::string(name(schedule)), .kernel = gpu ? "merge_path" : "balanced"};
  t.kernel_bytes = least_bytes(a, entry_bytes, reads_y);
}
template <Semiring S, class V>
void begin(const Csr<V>& a, const Operands<S>& o, const Schedule& schedule, Trace& t) {
  begin(a, std::ssize(o.x), std::ssize(o.y), sizeof(typename S::value_type), o.reads_y(), schedule, t);
}

}  // namespace

template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              const Schedule& schedule, Scale<S> scale, Trace* trace) {
  Trace local;
  Trace& t = trace ? *trace : local;
  const Operands<S> operands{x, y, scale};
  begin<S>(a, operands, schedule, t);
  const ScopedTimer timer(&t.seconds);
  if (const auto* settings = std::get_if<Streamed>(&schedule))
    multiply_streamed<S, V>(a, operands, *settings, t);
  else multiply_in_place<S, V>(a, operands, first_device(schedule), t);
}

template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              SpmvPlans<V>& plans, SpmvAlgorithm algorithm, Scale<S> scale, Trace* trace) {
  Trace local;
  Trace& t = trace ? *trace : local;
  begin<S>(a, Operands<S>{x, y, scale}, InCore{}, t);
  const ScopedTimer timer(&t.seconds);
  t.kernel = name(plans.template multiply<S>(algorithm, a.view(), x.data(), y.data(), scale));
  t.tiles = 1;
}

#define X(S, V)                                                                                         \
  template void multiply<S, V>(const Csr<V>&, std::span<const S::value_type>, std::span<S::value_type>, \
                               const Schedule&, Scale<S>, Trace*);                                      \
  template void multiply<S, V>(const Csr<V>&, std::span<const S::value_type>, std::span<S::value_type>, \
                               SpmvPlans<V>&, SpmvAlgorithm, Scale<S>, Trace*);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
