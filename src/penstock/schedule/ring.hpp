#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "penstock/core/trace.hpp"
#include "penstock/schedule/slot.hpp"
#include "penstock/schedule/tile_source.hpp"

namespace penstock {

/// Row blocks are copied through a ring of slots, ahead of the kernel that multiplies them (buono-2017, section 3.2,
/// with blocks of rows and any number of slots). Rings of several devices draw from one counter, so that a slow link
/// takes fewer blocks. On the CPU copies are synchronous and a slot is a piece of cache. On a GPU the host waits for each
/// tile's copy. A ring therefore never claims more blocks than it has slots, and the row offsets of a piece, which lie in
/// host memory, have been read before its slot is filled again.
template <class V>
class Ring {
 public:
  Ring(const Csr<V>& a, std::span<const RowBlock> blocks, std::atomic<std::int64_t>& next, Where where,
       int slots, Trace* trace)
      : a_(a), blocks_(blocks), next_(next), copies_(where), trace_(trace) {
    std::int64_t bytes = 0;
    for (const auto& b : blocks) bytes = std::max(bytes, CsrSlot<V>(b).bytes);
    for (int i = 0; i < std::min<std::int64_t>(slots, std::ssize(blocks)); ++i) {
      slots_.push_back(std::make_unique<Slot>(where));
      auto& s = *slots_.back();
      s.memory = allocate<std::byte>(bytes, device_place(where));
      if (trace_) trace_->ring_bytes += bytes;
    }
    if (!where.is_gpu()) return;  // there a slot is filled when it is asked for, and is still in cache then
    for (int i = 0; i < std::ssize(slots_); ++i) fill(i);
  }

  /// An exception elsewhere may leave copies into the slots under way: they end before the slots are freed.
  ~Ring() { drain(copies_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// The next tile, whose copy has arrived, or nothing where all blocks are taken.
  std::optional<Tile<V>> acquire(Stream compute) {
    if (slots_.empty()) return std::nullopt;
    auto& s = *slots_[static_cast<std::size_t>(head_)];
    if (!compute.where.is_gpu()) fill(head_);
    if (s.number < 0) return std::nullopt;
    synchronize(s.full);
    const auto& b = blocks_[static_cast<std::size_t>(s.number)];
    Tile<V> tile{{.rows = b.rows,
                  .cols = a_.cols,
                  .first_nnz = b.first_nnz,
                  .indptr = s.indptr(),
                  .indices = s.indices(CsrSlot<V>(b)),
                  .values = s.values(CsrSlot<V>(b)),
                  .count = b.nnz},
                 b,
                 s.number,
                 head_};
    if (!compute.where.is_gpu()) look_ahead(tile.view);
    head_ = (head_ + 1) % static_cast<int>(slots_.size());
    return tile;
  }

  /// Says that the stream's kernel is the tile's last reader. On a GPU the slot's next block is copied after that kernel.
  void release(const Tile<V>& tile, Stream compute) {
    if (!compute.where.is_gpu()) return;
    auto& s = *slots_[static_cast<std::size_t>(tile.slot)];
    record(s.empty, compute);
    wait(copies_, s.empty);
    fill(tile.slot);
  }

 private:
  struct Slot {
    explicit Slot(Where where) : full(where), empty(where) {}
    Offset* indptr() const { return reinterpret_cast<Offset*>(memory.data); }
    Index* indices(const CsrSlot<V>& at) const { return reinterpret_cast<Index*>(memory.data + at.indices); }
    V* values(const CsrSlot<V>& at) const { return reinterpret_cast<V*>(memory.data + at.values); }
    Array<std::byte> memory;
    OwnedEvent full, empty;
    std::int64_t number = -1;      // of the block in it; -1: none
    Offset piece_ptr[2] = {0, 0};  // a piece's row offsets, in host memory until the copy has read them
  };

  /// Claims a block and starts its copy into the slot.
  void fill(int i) {
    auto& s = *slots_[static_cast<std::size_t>(i)];
    s.number = claim();
    if (s.number >= std::ssize(blocks_)) {
      s.number = -1;
      return;
    }
    const ScopedTimer timer(trace_ ? &trace_->copy_seconds : nullptr);
    const auto& b = blocks_[static_cast<std::size_t>(s.number)];
    const CsrSlot<V> at(b);
    const auto view = block_view(a_.view(), b, s.piece_ptr);
    copy(s.indptr(), view.indptr, b.rows + 1);
    copy(s.indices(at), a_.indices.data + b.first_nnz, b.nnz);
    if constexpr (!is_pattern<V>) copy(s.values(at), a_.values.data + b.first_nnz, b.nnz);
    record(s.full, copies_);
  }

  /// The number of the next block; where none is left, a number beyond the last.
  std::int64_t claim() {
    return claimed_ >= 0 ? std::exchange(claimed_, -1) : next_.fetch_add(1, std::memory_order_relaxed);
  }

  /// The CPU's copy engine is the CPU: while it computes on one block it prefetches the next, which it claims now.
  void look_ahead(CsrView<V>& view) {
    claimed_ = claim();
    if (claimed_ >= std::ssize(blocks_)) return;
    const auto first = blocks_[static_cast<std::size_t>(claimed_)].first_nnz;
    view.ahead_indices = a_.indices.data + first;
    if constexpr (!is_pattern<V>) view.ahead_values = a_.values.data + first;
  }

  template <class T>
  void copy(T* to, const T* from, std::int64_t count) {
    const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
    copy_async(to, from, bytes, copies_);
    if (!trace_) return;
    trace_->copied_bytes += bytes;
    if (Stream(copies_).where.is_gpu()) trace_->link_bytes += bytes;
  }

  const Csr<V>& a_;
  std::span<const RowBlock> blocks_;
  std::atomic<std::int64_t>& next_;
  OwnedStream copies_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Trace* trace_;
  int head_ = 0;
  std::int64_t claimed_ = -1;  // the block that look_ahead has claimed for the next fill; -1: none
};
static_assert(TileSource<Ring<double>, double>);

}  // namespace penstock
