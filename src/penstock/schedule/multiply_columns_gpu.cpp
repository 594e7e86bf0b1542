// Y = alpha A X + beta Y where at least one device is a GPU. X goes up once and Y comes down once, while the matrix is in the
// GPU's memory, read over the link, or streamed through rings (drive_rings.hpp). Where X and Y do not fit, they are cut into
// chunks of columns, and the matrix is walked once a chunk. Host devices that take part multiply their tiles with X as it is
// in host memory. A row that is too long for a slot comes in pieces; their rows of sums are added at the end, in order.
#include "penstock/schedule/multiply_columns_gpu.hpp"

#include <algorithm>
#include <optional>

#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/schedule/drive_rings.hpp"
#include "penstock/schedule/host_columns.hpp"
#include "penstock/schedule/resident.hpp"

namespace penstock {
namespace {

/// X and Y on one GPU as the kernels take them.
template <class T>
class GpuColumns {
 public:
  GpuColumns(const HostColumns<T>& host, Stream stream, Trace& trace)
      : copies(host.operands(), stream, trace), x_rows_(host.x.rows), cols_(host.x.cols) {}
  DenseView<const T> x() const { return {copies.x(), x_rows_, cols_, cols_, 1}; }
  DenseView<T> y(std::int64_t first, std::int64_t rows) const {
    return {copies.y(first), rows, cols_, cols_, 1};
  }
  DenseView<T> cell() const { return {copies.cell(), 1, cols_, cols_, 1}; }

  GpuOperands<T> copies;

 private:
  std::int64_t x_rows_, cols_;
};

/// The whole matrix is where the GPU reads it.
template <Semiring S, class V>
void multiply_resident(const Csr<V>& a, const SpmmGpuPlan& plan,
                       const HostColumns<typename S::value_type>& host, Scale<S> scale, Stream stream,
                       Trace& trace) {
  trace.link_bytes += linked_entry_bytes(a, stream.where);
  GpuColumns gpu(host, stream, trace);
  if (!(scale.beta == S::zero())) gpu.copies.take_rows(0, a.rows);
  spmm_on<S, V>(a.view(), gpu.x(), gpu.y(0, a.rows), scale, stream, {.plan = &plan});
  gpu.copies.bring_back_rows(0, a.rows);
  synchronize(stream);
  ++trace.tiles;
}

/// One ring's share of the blocks.
template <Semiring S, class V>
void multiply_ring(Ring<V>& ring, const HostColumns<typename S::value_type>& host, PieceRows<S>& pieces,
                   Scale<S> scale, Stream stream, Trace& trace) {
  std::optional<GpuColumns<typename S::value_type>> gpu;
  if (stream.where.is_gpu()) gpu.emplace(host, stream, trace);
  each_tile<V>(ring, stream, trace, [&](const Tile<V>& tile) {
    const auto& b = tile.block;
    if (!gpu) {
      if (b.piece) spmm_tile<S, V>(tile.view, host.x, pieces.cell(tile.number), {});
      else spmm_tile<S, V>(tile.view, host.x, host.y.from_row(b.first_row), scale);
    } else if (b.piece) {
      spmm_on<S, V>(tile.view, gpu->x(), gpu->cell(), Scale<S>{}, stream);
      gpu->copies.bring_back_cell(pieces.cell(tile.number).data);
    } else {
      if (!(scale.beta == S::zero())) gpu->copies.take_rows(b.first_row, b.rows);
      spmm_on<S, V>(tile.view, gpu->x(), gpu->y(b.first_row, b.rows), scale, stream);
      gpu->copies.bring_back_rows(b.first_row, b.rows);
    }
  });
}

/// All rings of all devices over one chunk of columns.
template <Semiring S, class V>
void multiply_streamed(const Csr<V>& a, std::span<const RowBlock> blocks,
                       const HostColumns<typename S::value_type>& host, const Streamed& settings,
                       Scale<S> scale, Trace& trace) {
  PieceRows<S> pieces(blocks, host.x.cols);
  drive_rings<V>(a, blocks, settings, trace, [&](Ring<V>& ring, Stream stream, Trace& mine) {
    multiply_ring<S, V>(ring, host, pieces, scale, stream, mine);
  });
  pieces.finish(host.y, scale);
}

/// Rows and nonzeros that one kernel walks, at most.
struct Walk {
  std::int64_t rows = 0, nnz = 0;
};

Walk largest(std::span<const RowBlock> blocks) {
  Walk most;
  for (const auto& b : blocks) most = {std::max(most.rows, b.rows), std::max(most.nnz, b.nnz)};
  return most;
}

/// What a chunk of columns has to share a GPU's memory with.
struct Beside {
  Walk walk;                      // it decides how much scratch memory the kernel takes
  std::int64_t ring_bytes = 0;    // to be allocated
  std::int64_t matrix_bytes = 0;  // there already: a budget counts them, free memory does not
};

/// The smallest chunk that any of the GPUs asks for.
template <Semiring S, class V>
std::int64_t chunk_of(const Csr<V>& a, std::int64_t columns, std::span<const Where> devices,
                      const Beside& beside, std::int64_t device_memory) {
  const auto entry = std::int64_t(sizeof(typename S::value_type));
  const auto column = (a.cols + a.rows + 1) * entry;
  auto chunk = columns;
  for (const auto where : devices) {
    if (!where.is_gpu()) continue;
    const auto other = beside.ring_bytes + spmm_gpu_scratch_bytes(beside.walk.rows, beside.walk.nnz, columns,
                                                                  entry, gpu_facts(where));
    const auto lanes = lanes_on(devices, where);
    chunk = std::min(chunk, chunk_columns(columns, column, gpu_info(where.gpu).free_bytes / lanes, other));
    if (device_memory > 0)
      chunk = std::min(
          chunk, chunk_columns_within(device_memory / lanes, columns, column, other + beside.matrix_bytes));
  }
  return chunk;
}

}  // namespace

template <Semiring S, class V>
void multiply_columns_gpu(const Csr<V>& a, DenseView<const typename S::value_type> x,
                          DenseView<typename S::value_type> y, const Schedule& schedule, Scale<S> scale,
                          Trace& trace, std::int64_t device_memory) {
  using Columns = HostColumns<typename S::value_type>;
  trace.kernel = "merge_path";
  const bool reads_y = !(scale.beta == S::zero());
  const auto each_chunk = [&](std::int64_t chunk, auto&& multiply) {
    for (std::int64_t j = 0; j < x.cols; j += chunk) {
      poll_interrupt();
      const auto count = std::min(chunk, x.cols - j);
      Columns host(x.columns(j, count), y.columns(j, count), reads_y);
      multiply(host);
      host.finish();
    }
  };
  if (const auto* asked = std::get_if<Streamed>(&schedule)) {
    const auto settings = rings_within(*asked, device_memory);
    const auto blocks = streamed_blocks(a, settings);
    const Beside beside{.walk = largest(blocks), .ring_bytes = slot_bytes(settings) * settings.slots};
    const auto chunk = chunk_of<S>(a, x.cols, settings.devices, beside, device_memory);
    each_chunk(chunk, [&](const Columns& host) {
      trace.ring_bytes = 0;  // the next chunk's rings replace these
      multiply_streamed<S, V>(a, blocks, host, settings, scale, trace);
    });
    return;
  }
  const Where devices[] = {first_device(schedule)};
  const OwnedStream stream(devices[0]);
  const auto placed = with_offsets_on(stream, a, trace);
  const auto plan = spmm_plan(placed.view(), SpmmPlanFor::one, stream);
  const bool on_gpu = a.indices.place.memory == Memory::device;
  const Beside beside{.walk = {a.rows, a.nnz()}, .matrix_bytes = on_gpu ? a.bytes() : placed.indptr.bytes()};
  each_chunk(chunk_of<S>(a, x.cols, devices, beside, device_memory),
             [&](const Columns& host) { multiply_resident<S, V>(placed, plan, host, scale, stream, trace); });
}

#define X(S, V)                                                                                         \
  template void multiply_columns_gpu<S, V>(const Csr<V>&, DenseView<const S::value_type>,               \
                                           DenseView<S::value_type>, const Schedule&, Scale<S>, Trace&, \
                                           std::int64_t);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
