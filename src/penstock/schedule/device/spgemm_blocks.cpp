// The driver of C = A B by blocks of rows. A block is a product of its own (spgemm_on), of a view of A's rows; where it goes says
// spgemm_assembly.hpp.
#include "penstock/schedule/device/spgemm_blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/device_calls.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/machine.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/structure/filter_gpu.hpp"
#include "penstock/schedule/device/spgemm_assembly.hpp"
#include "penstock/schedule/device/spgemm_rows.hpp"
#include "penstock/schedule/gpu_room.hpp"

namespace penstock {
namespace {

using spgemm_assembly::kOffset, spgemm_assembly::kSlots;
// Smaller blocks spend more time on launches and waits than on entries. A C that fits one block is cut nevertheless, so that
// some of it travels while the rest is computed.
constexpr std::int64_t kLeastBlock = 64 << 20;
constexpr std::int64_t kWantedBlocks = 8;
constexpr std::int64_t kUnasked = 64 << 20;     // bytes of C that are taken without asking what is available
constexpr std::int64_t kCpuBlocks = 256 << 20;  // with the CPU as the device

template <class N>
std::string numbers(N n) {
  return std::to_string(n);
}

/// Bytes of an entry of C, and of what a block takes beside its entries.
template <class P>
struct Sizes {
  explicit Sizes(bool masked) {
    // A mask counts the entries that it keeps (filter_gpu.hpp), and its result lies beside them.
    in_block = entry + (masked ? entry + kOffset : 0);
    row = kOffset + kStudiedRowBytes + (masked ? kOffset : 0);
  }
  static constexpr std::int64_t entry = static_cast<std::int64_t>(sizeof(Index)) + value_bytes<P>;
  std::int64_t in_block = 0, row = 0;
};

/// The entries that C may have. Throws Error{out_of_memory} where they are known to be more.
template <Semiring S>
class Room {
  static constexpr std::int64_t kEntry = Sizes<ProductValue<S>>::entry;

 public:
  /// C has `rows` rows and at most `bound` entries.
  Room(const SpgemmBlocksOptions& options, std::int64_t rows, Offset bound, Stream stream)
      : options_(options), offsets_((rows + 1) * kOffset), entries_(bound) {
    if (options.memory < 0 && bound * kEntry <= kUnasked) return;
    if (options.memory >= 0) bytes_ = options.memory;
    else if (options.to_host || !stream.where.is_gpu()) bytes_ = probe_topology().available_bytes;
    else bytes_ = usable_bytes(device_memory(stream.where).free, 0, 0);
    entries_ = std::max<std::int64_t>(bytes_ - offsets_, 0) / kEntry;
  }
  Offset entries() const { return entries_; }

  /// `done` rows of C, of at least `nnz` entries in all.
  void require_entries(Offset nnz, std::int64_t done, Offset products) const {
    if (nnz <= entries_) return;
    const std::string where = options_.to_host ? "host memory" : "the GPU's memory";
    const auto rows = done < 0 ? std::string() : " in its first " + numbers(done) + " rows";
    throw Error(Errc::out_of_memory,
                "C = A B" + std::string(options_.mask ? " on the mask" : "") + " has " + numbers(nnz) +
                    " entries" + rows + ", of " + numbers(products) + " products; it takes " +
                    numbers(nnz * kEntry + offsets_) + " bytes of " + where + ", and " + numbers(bytes_) +
                    (options_.memory < 0 ? " are available" : " are allowed") +
                    (options_.to_host ? ": compute it in blocks of rows (spgemm_blocks), write it to a store "
                                        "(out=), or allow more (memory=)"
                                      : ": compute it into host memory (place=ps.host)"));
  }

 private:
  const SpgemmBlocksOptions& options_;
  std::int64_t offsets_ = 0, bytes_ = 0;
  Offset entries_ = 0;
};

/// The blocks of one product, and how each is computed.
template <Semiring S>
class Blocks {
  using T = typename S::value_type;
  using P = ProductValue<S>;

 public:
  Blocks(const CsrView<T>& a, const CsrView<T>& b, const SpgemmRows& rows, Stream stream,
         const SpgemmBlocksOptions& options)
      : a_(a), b_(b), stream_(stream), options_(options), sizes_(options.mask != nullptr) {
    usable_ = options.block_memory;
    if (usable_ < 0)
      usable_ = stream.where.is_gpu() ? usable_bytes(device_memory(stream.where).free, 0, 0) : kCpuBlocks;
    if (!options.to_host)  // parts of C stay beside the blocks, and are copied together in the end
      usable_ = std::max(usable_ - 2 * rows.entries * sizes_.entry, usable_ / 4);
    const auto whole = rows.bounds.data[a.rows] * sizes_.in_block + a.rows * sizes_.row;
    budget_ = usable_ / kSlots;
    if (options.to_host) budget_ = std::min(budget_, std::max(kLeastBlock, whole / kWantedBlocks));
    all_ = whole_row_blocks(rows.bounds, sizes_.in_block, sizes_.row, budget_);
  }
  const std::vector<RowBlock>& all() const { return all_; }
  /// Whether a block, which is one row, may need all of the memory.
  bool alone(const RowBlock& block) const {
    return block.nnz * sizes_.in_block + block.rows * sizes_.row > budget_;
  }

  Offset count(const RowBlock& block) const {
    const auto rows = device_rows(a_, block.first_row, block.rows, stream_);
    const auto c =
        spgemm_on<S>(rows, b_, stream_, {.pooled = true, .method = options_.method, .count_only = true});
    Offset entries = 0;
    copy_async(&entries, c.indptr.data + block.rows, kOffset, stream_);
    synchronize(stream_);
    return entries;
  }

  Csr<P> compute(const RowBlock& block) const {
    const auto rows = device_rows(a_, block.first_row, block.rows, stream_);
    SpgemmGpuOptions how{.pooled = options_.to_host || options_.mask, .method = options_.method};
    if (alone(block)) {
      how.memory = std::max<std::int64_t>(usable_ - sizes_.row, 0) / sizes_.in_block * sizes_.entry;
      if (!stream_.where.is_gpu()) how.memory += 2 * kOffset;  // where offsets count, too
    }
    Csr<P> c;
    try {
      c = spgemm_on<S>(rows, b_, stream_, how);
    } catch (const Error& e) {
      if (e.code() != Errc::out_of_memory) throw;
      throw Error(e.code(), "rows " + numbers(block.first_row) + " to " +
                                numbers(block.first_row + block.rows - 1) + " of C = A B, a block of " +
                                numbers(all_.size()) + " by which C is computed in " + numbers(usable_) +
                                " bytes: " + e.what());
    }
    if (!options_.mask) return c;
    const auto& m = *options_.mask;
    const Csr<One> part{block.rows, m.cols, m.indptr.slice(block.first_row, block.rows + 1), m.indices, {}};
    return mask_on(c, part, false, stream_);
  }

 private:
  const CsrView<T>&a_, &b_;
  Stream stream_;
  const SpgemmBlocksOptions& options_;
  Sizes<P> sizes_;
  std::int64_t usable_ = 0, budget_ = 0;
  std::vector<RowBlock> all_;
};

template <class V>
std::int64_t bytes_of(const CsrView<V>& m) {
  const std::int64_t value = m.values ? value_bytes<V> : 0;
  return (m.rows + 1) * kOffset + m.count * (static_cast<std::int64_t>(sizeof(Index)) + value);
}

/// C by blocks.
template <Semiring S>
Csr<ProductValue<S>> by_blocks(const CsrView<typename S::value_type>& a,
                               const CsrView<typename S::value_type>& b, Stream stream,
                               const SpgemmBlocksOptions& options, Trace& trace) {
  const auto rows = spgemm_rows(pattern_of(a), pattern_of(b), options.mask, stream);
  const Room<S> room(options, a.rows, rows.entries, stream);
  const Blocks<S> blocks(a, b, rows, stream, options);
  auto most = rows.entries;
  if (options.mask) {
    most = std::min(most, room.entries());
  } else if (most > room.entries()) {
    most = 0;
    for (const auto& block : blocks.all()) most += blocks.count(block), poll_interrupt();
    room.require_entries(most, -1, rows.products);
  }
  spgemm_assembly::Assembly<ProductValue<S>> c(a.rows, most, options.to_host, stream, trace);
  for (const auto& block : blocks.all()) {
    c.arrive(blocks.alone(block) ? 0 : kSlots - 1);
    auto part = blocks.compute(block);
    room.require_entries(c.entries() + part.nnz(), block.first_row + block.rows, rows.products);
    c.add(block.first_row, std::move(part));
    poll_interrupt();
  }
  trace.schedule = "row_blocks", trace.tiles = std::ssize(blocks.all());
  return c.finish(a.rows, b.cols);
}

}  // namespace

template <Semiring S>
Csr<ProductValue<S>> spgemm_in_blocks(const CsrView<typename S::value_type>& a,
                                      const CsrView<typename S::value_type>& b, Stream stream,
                                      const SpgemmBlocksOptions& options, Trace* trace) {
  if (const auto* m = options.mask)
    require(m->rows == a.rows && m->cols == b.cols,
            "spgemm: the mask must have the rows of A and the columns of B");
  Trace unasked;
  Trace& told = trace ? *trace : unasked;
  const ScopedTimer timer(&told.seconds);
  const auto calls = device_calls();
  const UseDevice use(stream.where);
  const bool whole = !options.to_host && !options.mask && options.block_memory < 0;
  auto c = whole ? spgemm_on<S>(a, b, stream, {.memory = options.memory, .method = options.method})
                 : by_blocks<S>(a, b, stream, options, told);
  const auto done = device_calls() - calls;
  if (whole) told.schedule = "in_core", told.tiles = 1;
  told.kernel = "spgemm";
  told.kernel_bytes = bytes_of(a) + bytes_of(b) + c.bytes();
  told.launches = done.launches, told.waits = done.waits;
  return c;
}

#define X(S)                                                                               \
  template Csr<ProductValue<S>> spgemm_in_blocks<S>(const CsrView<S::value_type>&,         \
                                                    const CsrView<S::value_type>&, Stream, \
                                                    const SpgemmBlocksOptions&, Trace*);
PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X

}  // namespace penstock
