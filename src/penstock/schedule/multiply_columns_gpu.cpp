#include "penstock/schedule/multiply_columns_gpu.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/schedule/resident.hpp"
#include "penstock/schedule/ring.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsAtOnce = 4096;

template <class From, class To>
void copy_rows(DenseView<From> from, DenseView<To> to) {
  parallel_ranges(from.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i)
      for (std::int64_t j = 0; j < from.cols; ++j)
        to.data[i * to.row_step + j * to.col_step] = from.data[i * from.row_step + j * from.col_step];
  });
}

/// A chunk of X and Y in host memory, row after row without gaps: the user's own where it is so, else copies.
template <Semiring S>
class HostColumns {
 public:
  using T = typename S::value_type;
  HostColumns(DenseView<const T> x, DenseView<T> y, bool reads_y) : x(x), y(y), users_(y) {
    if (!dense(x)) {
      x_memory_ = allocate<T>(x.rows * x.cols);
      const DenseView<T> copy{x_memory_.data, x.rows, x.cols, x.cols, 1};
      copy_rows(x, copy);
      this->x = {copy.data, x.rows, x.cols, x.cols, 1};
    }
    if (dense(y)) return;
    y_memory_ = allocate<T>(y.rows * y.cols);
    this->y = {y_memory_.data, y.rows, y.cols, y.cols, 1};
    if (reads_y) copy_rows(y, this->y);
  }
  void finish() {
    if (y.data != users_.data) copy_rows(y, users_);
  }

  DenseView<const T> x;
  DenseView<T> y;

 private:
  template <class U>
  static bool dense(const DenseView<U>& v) {
    return v.row_major() && (v.row_step == v.cols || v.rows <= 1);
  }
  DenseView<T> users_;
  Array<T> x_memory_, y_memory_;
};

/// The same on one GPU; the row after Y's last is the cell of a piece.
template <Semiring S>
class DeviceColumns {
 public:
  using T = typename S::value_type;
  DeviceColumns(const HostColumns<S>& host, Stream stream, Trace& trace)
      : host_(host), stream_(stream), trace_(trace) {
    const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
    const auto cols = host.x.cols;
    x_ = allocate<T>(host.x.rows * cols, here);
    y_ = allocate<T>((host.y.rows + 1) * cols, here);
    x = {x_.data, host.x.rows, cols, cols, 1};
    y = {y_.data, host.y.rows + 1, cols, cols, 1};
    copy(x_.data, host.x.data, host.x.rows * cols);
  }
  ~DeviceColumns() { drain(stream_); }  // results on their way to host memory land before this is freed
  DeviceColumns(const DeviceColumns&) = delete;
  DeviceColumns& operator=(const DeviceColumns&) = delete;

  void take_rows(std::int64_t first, std::int64_t count) {
    copy(y.data + first * y.cols, host_.y.data + first * y.cols, count * y.cols);
  }
  void bring_back_rows(std::int64_t first, std::int64_t count) {
    copy(host_.y.data + first * y.cols, y.data + first * y.cols, count * y.cols);
  }
  void bring_back_cell(T* to) { copy(to, y.data + host_.y.rows * y.cols, y.cols); }

  DenseView<const T> x;
  DenseView<T> y;

 private:
  void copy(T* to, const T* from, std::int64_t count) {
    copy_async(to, from, count * std::int64_t(sizeof(T)), stream_);
    trace_.link_bytes += count * std::int64_t(sizeof(T));
  }
  const HostColumns<S>& host_;
  Stream stream_;
  Trace& trace_;
  Array<T> x_, y_;
};

/// The whole matrix is where the GPU reads it.
template <Semiring S, class V>
void multiply_resident(const Csr<V>& a, const SpmmGpuPlan& plan, const HostColumns<S>& host, Scale<S> scale,
                       Stream stream, Trace& trace) {
  const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
  if (a.indices.place != here) trace.link_bytes += a.indices.bytes();
  if (a.values.place != here) trace.link_bytes += a.values.bytes();
  DeviceColumns<S> device(host, stream, trace);
  if (!(scale.beta == S::zero())) device.take_rows(0, a.rows);
  auto y = device.y;
  y.rows = a.rows;
  spmm_on<S, V>(a.view(), device.x, y, scale, stream, {.plan = &plan});
  device.bring_back_rows(0, a.rows);
  synchronize(stream);
  ++trace.tiles;
}

/// One ring's share of the blocks.
template <Semiring S, class V>
void multiply_ring(Ring<V>& ring, HostColumns<S>& host, PieceRows<S>& pieces, Scale<S> scale, Stream stream,
                   Trace& trace) {
  std::optional<DeviceColumns<S>> device;
  if (stream.where.is_gpu()) device.emplace(host, stream, trace);
  while (auto tile = ring.acquire(stream)) {
    poll_interrupt();
    const auto& b = tile->block;
    if (!device && b.piece) {
      spmm_tile<S, V>(tile->view, host.x, pieces.cell(tile->number), {});
    } else if (!device) {
      spmm_tile<S, V>(tile->view, host.x, host.y.from_row(b.first_row), scale);
    } else if (b.piece) {
      auto cell = device->y.from_row(host.y.rows);
      spmm_on<S, V>(tile->view, device->x, cell, Scale<S>{}, stream);
      device->bring_back_cell(pieces.cell(tile->number).data);
    } else {
      if (!(scale.beta == S::zero())) device->take_rows(b.first_row, b.rows);
      auto y = device->y.from_row(b.first_row);
      y.rows = b.rows;
      spmm_on<S, V>(tile->view, device->x, y, scale, stream);
      device->bring_back_rows(b.first_row, b.rows);
    }
    ring.release(*tile, stream);
    ++trace.tiles;
  }
  synchronize(stream);
}

/// All rings of all devices over one chunk of columns.
template <Semiring S, class V>
void multiply_streamed(const Csr<V>& a, std::span<const RowBlock> blocks, HostColumns<S>& host,
                       const Streamed& how, Scale<S> scale, Trace& trace) {
  PieceRows<S> pieces(blocks, host.x.cols);
  std::atomic<std::int64_t> next = 0;
  std::mutex lock;
  std::exception_ptr error;
  const auto one = [&](Where where) {
    Trace mine;
    {
      const OwnedStream stream(where);
      Ring<V> ring(a, blocks, next, where, how.slots, &mine);
      multiply_ring<S, V>(ring, host, pieces, scale, stream, mine);
    }
    const std::lock_guard guard(lock);
    trace.tiles += mine.tiles, trace.copied_bytes += mine.copied_bytes, trace.link_bytes += mine.link_bytes;
    trace.ring_bytes += mine.ring_bytes, trace.copy_seconds += mine.copy_seconds;
  };
  const auto drive = [&](Where where) {
    try {
      if (where.is_gpu()) one(where);
      else parallel_for(host_rings(how), [&](std::int64_t) { one(where); });
    } catch (...) {
      next = std::ssize(blocks);  // the other devices stop after the tiles that they hold
      const std::lock_guard guard(lock);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;  // one host thread a device, the caller's for the first
    for (std::size_t i = 1; i < how.devices.size(); ++i) others.emplace_back(drive, how.devices[i]);
    drive(how.devices.front());
  }
  if (error) std::rethrow_exception(error);
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

std::int64_t sharers(std::span<const Where> devices, Where where) {
  return std::count(devices.begin(), devices.end(), where);
}

/// The smallest chunk that any of the GPUs asks for. `other_bytes` are to be taken, `held_bytes` are there already.
template <Semiring S, class V>
std::int64_t chunk_of(const Csr<V>& a, std::int64_t columns, std::span<const Where> devices, Walk walk,
                      std::int64_t other_bytes, std::int64_t device_memory, std::int64_t held_bytes = 0) {
  const auto entry = std::int64_t(sizeof(typename S::value_type));
  const auto column = (a.cols + a.rows + 1) * entry;
  auto chunk = columns;
  for (const auto where : devices) {
    if (!where.is_gpu()) continue;
    const auto other =
        other_bytes + spmm_gpu_scratch_bytes(walk.rows, walk.nnz, columns, entry, gpu_facts(where));
    const auto lanes = sharers(devices, where);
    chunk = std::min(chunk, chunk_columns(columns, column, gpu_info(where.gpu).free_bytes / lanes, other));
    if (device_memory > 0)
      chunk =
          std::min(chunk, chunk_columns_within(device_memory / lanes, columns, column, other + held_bytes));
  }
  return chunk;
}

/// Half of a budget is for rings, the rest for X, Y and scratch.
Streamed within(Streamed how, std::int64_t device_memory) {
  if (device_memory == 0) return how;
  std::int64_t lanes = 1;
  for (const auto where : how.devices) lanes = std::max(lanes, sharers(how.devices, where));
  const auto half = device_memory / lanes / 2;
  how.ring_bytes = how.ring_bytes > 0 ? std::min(how.ring_bytes, half) : half;
  return how;
}

}  // namespace

std::int64_t chunk_columns(std::int64_t columns, std::int64_t bytes_per_column, std::int64_t free_bytes,
                           std::int64_t other_bytes) {
  const auto left = free_bytes / 10 * 9 - other_bytes;
  const auto fit = std::clamp<std::int64_t>(left / std::max<std::int64_t>(bytes_per_column, 1), 1, columns);
  return fit < columns && fit >= 32 ? fit / 32 * 32 : fit;
}

std::int64_t chunk_columns_within(std::int64_t device_memory, std::int64_t columns,
                                  std::int64_t bytes_per_column, std::int64_t other_bytes) {
  const auto left = device_memory - other_bytes;
  if (left < bytes_per_column)
    throw Error(Errc::out_of_memory,
                "a GPU may hold " + std::to_string(device_memory) + " bytes; a column of X and Y takes " +
                    std::to_string(bytes_per_column) + ", rings and scratch " + std::to_string(other_bytes) +
                    ": allow more device_memory, or multiply a column at a time");
  const auto fit = std::min(left / std::max<std::int64_t>(bytes_per_column, 1), columns);
  return fit < columns && fit >= 32 ? fit / 32 * 32 : fit;
}

template <Semiring S, class V>
void multiply_columns_gpu(const Csr<V>& a, DenseView<const typename S::value_type> x,
                          DenseView<typename S::value_type> y, const Schedule& how, Scale<S> scale,
                          Trace& trace, std::int64_t device_memory) {
  trace.kernel = "merge_path";
  const bool reads_y = !(scale.beta == S::zero());
  const auto each_chunk = [&](std::int64_t chunk, auto&& multiply) {
    for (std::int64_t j = 0; j < x.cols; j += chunk) {
      poll_interrupt();
      const auto count = std::min(chunk, x.cols - j);
      HostColumns<S> host(x.columns(j, count), y.columns(j, count), reads_y);
      multiply(host);
      host.finish();
    }
  };
  if (const auto* asked = std::get_if<Streamed>(&how)) {
    const auto s = within(*asked, device_memory);
    const auto blocks = streamed_blocks(a, s);
    const auto chunk =
        chunk_of<S>(a, x.cols, s.devices, largest(blocks), slot_bytes(s) * s.slots, device_memory);
    each_chunk(chunk, [&](HostColumns<S>& host) {
      trace.ring_bytes = 0;  // the next chunk's rings replace these
      multiply_streamed<S, V>(a, blocks, host, s, scale, trace);
    });
    return;
  }
  const OwnedStream stream(first_device(how));
  const auto placed = with_offsets_on(stream, a, trace);
  const auto plan = spmm_plan(placed.view(), stream);
  const Where devices[] = {first_device(how)};
  const auto held = a.indices.place.memory == Memory::device ? a.bytes() : placed.indptr.bytes();
  each_chunk(
      chunk_of<S>(a, x.cols, devices, {a.rows, a.nnz()}, 0, device_memory, held),
      [&](const HostColumns<S>& host) { multiply_resident<S, V>(placed, plan, host, scale, stream, trace); });
}

#define X(S, V)                                                                                         \
  template void multiply_columns_gpu<S, V>(const Csr<V>&, DenseView<const S::value_type>,               \
                                           DenseView<S::value_type>, const Schedule&, Scale<S>, Trace&, \
                                           std::int64_t);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
