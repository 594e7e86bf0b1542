#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "penstock/core/trace.hpp"
#include "penstock/schedule/tile_source.hpp"

namespace penstock {

/// Row blocks copied through a ring of staging slots, ahead of the kernel that eats them (buono-2017, section 3.2,
/// with blocks of rows and any number of slots). Rings of several devices draw from one counter, so that a slow link
/// takes fewer blocks. On the CPU copies are synchronous and a slot is a piece of cache.
template <class V>
class Ring {
 public:
  Ring(const Csr<V>& a, std::span<const RowBlock> blocks, std::atomic<std::int64_t>& next, Where where, int slots,
       Trace* trace)
      : a_(a), blocks_(blocks), next_(next), copies_(where), trace_(trace) {
    std::int64_t rows = 0, nnz = 0;
    for (const auto& b : blocks) rows = std::max(rows, b.rows), nnz = std::max(nnz, std::int64_t(b.nnz));
    const Place here = where.is_gpu() ? Place{Memory::device, static_cast<std::int16_t>(where.gpu)} : Place{};
    for (int i = 0; i < std::min<std::int64_t>(slots, std::ssize(blocks)); ++i) {
      slots_.push_back(std::make_unique<Slot>(where));
      auto& s = *slots_.back();
      s.indptr = allocate<Offset>(rows + 1, here);
      s.indices = allocate<Index>(nnz, here);
      if constexpr (!is_pattern<V>) s.values = allocate<V>(nnz, here);
      if (trace_) trace_->ring_bytes += s.indptr.bytes() + s.indices.bytes() + s.values.bytes();
    }
    for (int i = 0; i < std::ssize(slots_); ++i)
      if (where.is_gpu()) fill(i);  // on the CPU a slot is filled when it is asked for, and is still in cache then
  }

  std::optional<Tile<V>> acquire(Stream compute) {
    if (slots_.empty()) return std::nullopt;
    auto& s = *slots_[static_cast<std::size_t>(head_)];
    if (!compute.where.is_gpu()) fill(head_);
    if (s.number < 0) return std::nullopt;
    wait(compute, s.full);
    const auto& b = blocks_[static_cast<std::size_t>(s.number)];
    Tile<V> tile{{.rows = b.rows, .cols = a_.cols, .first_nnz = b.first_nnz, .indptr = s.indptr.data,
                  .indices = s.indices.data, .values = s.values.data, .count = b.nnz}, b, s.number, head_};
    head_ = (head_ + 1) % static_cast<int>(slots_.size());
    return tile;
  }

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
    Array<Offset> indptr;
    Array<Index> indices;
    Array<V> values;
    OwnedEvent full, empty;
    std::int64_t number = -1;
    Offset piece_ptr[2] = {0, 0};  // a piece's row offsets, in host memory until the copy has read them
  };

  void fill(int i) {
    auto& s = *slots_[static_cast<std::size_t>(i)];
    s.number = next_.fetch_add(1, std::memory_order_relaxed);
    if (s.number >= std::ssize(blocks_)) {
      s.number = -1;
      return;
    }
    const ScopedTimer timer(trace_ ? &trace_->copy_seconds : nullptr);
    const auto& b = blocks_[static_cast<std::size_t>(s.number)];
    const auto view = block_view(a_.view(), b, s.piece_ptr);
    copy(s.indptr.data, view.indptr, b.rows + 1);
    copy(s.indices.data, a_.indices.data + b.first_nnz, b.nnz);
    if constexpr (!is_pattern<V>) copy(s.values.data, a_.values.data + b.first_nnz, b.nnz);
    record(s.full, copies_);
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
};
static_assert(TileSource<Ring<double>, double>);

}  // namespace penstock
