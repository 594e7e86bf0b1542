#include "penstock/schedule/multiply.hpp"

#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmv/pieces.hpp"
#include "penstock/schedule/resident.hpp"
#include "penstock/schedule/ring.hpp"

namespace penstock {
namespace {

// A host slot stays in its thread's second-level cache (2 MB where this was measured) while it is computed on, and so
// does what is prefetched meanwhile. Of 32 KiB to 1 MiB, 128 and 256 KiB reached 0.73 to 1.0 of the in-core speed; 1 MiB
// 0.5 to 0.75 (Laplacian 128^3, a band, R-MAT 18, uniform).
constexpr std::int64_t kHostSlotBytes = 128 << 10;
constexpr std::int64_t kGpuSlotBytes = 64 << 20;  // the copy engine is at full speed from 16 MiB
constexpr std::int64_t kSlotPadding =
    512;                               // at most: a slot's arrays are aligned, and n rows have n + 1 offsets
constexpr std::int64_t kRowAlign = 4;  // y of a block begins at a multiple of 16 bytes: cuSPARSE wants it

constexpr std::int64_t kLeastSlotBytes = 640;  // room for the padding and a few nonzeros

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

/// x and y as one device sees them: the caller's own memory on the CPU, copies on a GPU.
template <Semiring S>
class Vectors {
 public:
  using T = typename S::value_type;
  Vectors(std::span<const T> x, std::span<T> y, Stream stream, Trace& trace)
      : x(x.data()), y(y.data()), host_y_(y), stream_(stream), trace_(trace) {
    if (!stream.where.is_gpu()) return;
    const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
    device_x_ = allocate<T>(std::ssize(x), here);
    device_y_ = allocate<T>(std::ssize(y) + 1, here);  // the last entry is the cell of a piece
    copy(device_x_.data, x.data(), std::ssize(x));
    this->x = device_x_.data, this->y = device_y_.data;
  }

  T* piece_cell(T* host_cell) { return stream_.where.is_gpu() ? device_y_.data + host_y_.size() : host_cell; }
  void bring_back(T* to, const T* from, std::int64_t count) {
    if (stream_.where.is_gpu()) copy(to, from, count);
  }
  /// Only the tile's own rows: other rows of the host's y may be changing under another device's results.
  void take_rows(std::int64_t first, std::int64_t count) {
    if (stream_.where.is_gpu()) copy(device_y_.data + first, host_y_.data() + first, count);
  }
  void bring_back_rows(std::int64_t first, std::int64_t count) {
    bring_back(host_y_.data() + first, y + first, count);
  }

  const T* x;
  T* y;

 private:
  void copy(T* to, const T* from, std::int64_t count) {
    copy_async(to, from, count * static_cast<std::int64_t>(sizeof(T)), stream_);
    trace_.link_bytes += count * static_cast<std::int64_t>(sizeof(T));
  }
  std::span<T> host_y_;
  Stream stream_;
  Trace& trace_;
  Array<T> device_x_, device_y_;
};

/// Ends with the stream idle, whatever happens: results on their way to host memory land before that may be freed.
struct DrainAtEnd {
  explicit DrainAtEnd(Stream stream) : stream_(stream) {}
  ~DrainAtEnd() { drain(stream_); }
  DrainAtEnd(const DrainAtEnd&) = delete;
  DrainAtEnd& operator=(const DrainAtEnd&) = delete;

 private:
  Stream stream_;
};

/// One device's share: every tile that its source hands out.
template <Semiring S, class V, TileSource<V> Source>
void run(Source&& source, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
         Scale<S> scale, Pieces<S>& pieces, Stream stream, Trace& trace) {
  Vectors<S> vectors(x, y, stream, trace);
  const DrainAtEnd idle(stream);
  while (auto tile = source.acquire(stream)) {
    poll_interrupt();
    const auto& b = tile->block;
    if (b.piece) {
      auto* host_cell = pieces.cell(tile->number);
      auto* cell = vectors.piece_cell(host_cell);
      spmv<S, V>(tile->view, vectors.x, cell, Scale<S>{}, stream);
      vectors.bring_back(host_cell, cell, 1);
    } else {
      if (!(scale.beta == S::zero())) vectors.take_rows(b.first_row, b.rows);
      spmv<S, V>(tile->view, vectors.x, vectors.y + b.first_row, scale, stream);
      vectors.bring_back_rows(b.first_row, b.rows);
    }
    source.release(*tile, stream);
    ++trace.tiles;
  }
  synchronize(stream);
}

void add(Trace& total, const Trace& part) {
  total.tiles += part.tiles;
  total.copied_bytes += part.copied_bytes;
  total.link_bytes += part.link_bytes;
  total.ring_bytes += part.ring_bytes;
  total.copy_seconds += part.copy_seconds;
}

template <Semiring S, class V>
void run_streamed(const Csr<V>& a, std::span<const typename S::value_type> x,
                  std::span<typename S::value_type> y, const Streamed& how, Scale<S> scale, Trace& trace) {
  const auto blocks = streamed_blocks(a, how);
  Pieces<S> pieces(blocks);
  std::atomic<std::int64_t> next = 0;
  std::mutex lock;
  std::exception_ptr error;
  const auto ring = [&](Where where) {
    Trace mine;
    const OwnedStream stream(where);
    run<S, V>(Ring<V>(a, blocks, next, where, how.slots, &mine), x, y, scale, pieces, stream, mine);
    const std::lock_guard guard(lock);
    add(trace, mine);
  };
  const auto drive = [&](Where where) {
    try {
      if (where.is_gpu()) ring(where);
      else parallel_for(host_rings(how), [&](std::int64_t) { ring(where); });
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
  pieces.finish(y.data(), scale);
}

/// Checks what every product checks and starts its trace.
template <Semiring S, class V>
void begin(const Csr<V>& a, std::span<const typename S::value_type> x,
           std::span<const typename S::value_type> y, const Schedule& how, Scale<S> scale, Trace& t) {
  require(std::ssize(x) == a.cols, "multiply: x has " + std::to_string(x.size()) +
                                       " entries, the matrix has " + std::to_string(a.cols) + " columns");
  require(std::ssize(y) == a.rows, "multiply: y has " + std::to_string(y.size()) +
                                       " entries, the matrix has " + std::to_string(a.rows) + " rows");
  check_matrix(how, a);
  t = {.schedule = std::string(name(how)), .kernel = first_device(how).is_gpu() ? "merge_path" : "balanced"};
  t.kernel_bytes = least_bytes(a, sizeof(typename S::value_type), !(scale.beta == S::zero()));
}

}  // namespace

Where first_device(const Schedule& how) {
  return std::visit(
      overloaded{[](const Streamed& h) { return h.devices.front(); }, [](const auto& h) { return h.where; }},
      how);
}

std::int64_t host_rings(const Streamed& how) {
  if (how.ring_bytes == 0) return num_threads();
  return std::clamp<std::int64_t>(how.ring_bytes / (how.slots * kLeastSlotBytes), 1, num_threads());
}

template <class V>
void check_matrix(const Schedule& how, const Csr<V>& a) {
  check(how, a.indices.place);
  if constexpr (!is_pattern<V>) check(how, a.values.place);
  if (std::holds_alternative<Streamed>(how) || !first_device(how).is_gpu()) check(InCore{}, a.indptr.place);
  if (const auto* s = std::get_if<Streamed>(&how); s && s->ring_bytes > 0)
    require(s->ring_bytes >= s->slots * kLeastSlotBytes,
            "Streamed: a ring of " + std::to_string(s->ring_bytes) + " bytes does not hold " +
                std::to_string(s->slots) + " slots of " + std::to_string(kLeastSlotBytes) +
                " bytes: allow more bytes, or use fewer slots");
}

template <class V>
std::vector<RowBlock> streamed_blocks(const Csr<V>& a, const Streamed& how) {
  const BlockShape shape{.budget = slot_bytes(how),
                         .nnz_cost = sizeof(Index) + value_bytes<V>,
                         .row_cost = sizeof(Offset),
                         .row_align = kRowAlign};
  return row_blocks(a.indptr.span(), shape);
}

std::int64_t slot_bytes(const Streamed& how) {
  const bool gpu = how.devices.front().is_gpu();
  auto bytes = how.block_bytes;
  if (bytes == 0) bytes = gpu ? kGpuSlotBytes : kHostSlotBytes;
  if (how.ring_bytes > 0)
    bytes = std::min(bytes, how.ring_bytes / (how.slots * (gpu ? 1 : host_rings(how))) - kSlotPadding);
  return std::max<std::int64_t>(bytes, 64);
}

template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              const Schedule& how, Scale<S> scale, Trace* trace) {
  Trace local;
  Trace& t = trace ? *trace : local;
  begin<S>(a, x, y, how, scale, t);
  const ScopedTimer timer(&t.seconds);
  const auto resident = [&](Where where) {
    const OwnedStream stream(where);
    Pieces<S> none({});
    const auto placed = with_offsets_on(stream, a, t);
    if (const Place here = device_place(where); where.is_gpu()) {
      if (a.indices.place != here) t.link_bytes += a.indices.bytes();
      if (a.values.place != here) t.link_bytes += a.values.bytes();
    }
    run<S, V>(Resident<V>(placed), x, y, scale, none, stream, t);
  };
  std::visit(
      overloaded{[&](const InCore& h) { resident(h.where); }, [&](const ZeroCopy& h) { resident(h.where); },
                 [&](const Streamed& h) { run_streamed<S, V>(a, x, y, h, scale, t); }},
      how);
}

template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              SpmvPlans<V>& plans, SpmvAlgorithm algorithm, Scale<S> scale, Trace* trace) {
  Trace local;
  Trace& t = trace ? *trace : local;
  begin<S>(a, x, y, InCore{}, scale, t);
  const ScopedTimer timer(&t.seconds);
  t.kernel = name(plans.template multiply<S>(algorithm, a.view(), x.data(), y.data(), scale));
  t.tiles = 1;
}

#define X(V)                                                  \
  template void check_matrix(const Schedule&, const Csr<V>&); \
  template std::vector<RowBlock> streamed_blocks(const Csr<V>&, const Streamed&);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X
#define X(S, V)                                                                                         \
  template void multiply<S, V>(const Csr<V>&, std::span<const S::value_type>, std::span<S::value_type>, \
                               const Schedule&, Scale<S>, Trace*);                                      \
  template void multiply<S, V>(const Csr<V>&, std::span<const S::value_type>, std::span<S::value_type>, \
                               SpmvPlans<V>&, SpmvAlgorithm, Scale<S>, Trace*);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
