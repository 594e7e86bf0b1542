#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/schedule/device/landing.hpp"

// Where the blocks of C = A B come together, in their order. Two are in the device's memory: one that is computed, and the one
// before it, whose arrays travel to the host on a second stream.
namespace penstock::spgemm_assembly {

inline constexpr std::int64_t kOffset = sizeof(Offset);
inline constexpr int kSlots = 2;

/// C's arrays where they come together: offsets on the host, entries there or as pieces in the device's memory.
template <class P>
class Assembly {
 public:
  Assembly(std::int64_t rows, Offset most, bool to_host, Stream compute, Trace& trace)
      : compute_(compute),
        copies_(compute.where),
        to_host_(to_host),
        trace_(trace),
        offsets_((rows + 1) * kOffset, copies_),
        columns_(to_host ? most * static_cast<std::int64_t>(sizeof(Index)) : 0, copies_),
        values_(to_host ? most * value_bytes<P> : 0, copies_),
        slots_{Slot(compute.where), Slot(compute.where)} {}
  ~Assembly() { drain(copies_); }  // before the blocks in the slots go
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  /// Waits until at most `kept` blocks are on their way, and frees the memory of the others.
  void arrive(int kept) {
    for (; slots_used_ > kept; --slots_used_) {
      auto& slot = slots_[static_cast<std::size_t>((next_ + kSlots - slots_used_) % kSlots)];
      {
        const ScopedTimer timer(&trace_.copy_seconds);
        synchronize(slot.landed);
      }
      auto* const out = offsets() + slot.first_row;
      const auto base = slot.base;
      const auto rows = slot.block.rows;
      parallel_ranges(rows, 1 << 16, [&](std::int64_t r, std::int64_t last) {
        for (; r < last; ++r) out[r] += base;
      });
      if (!to_host_) pieces_.push_back(std::move(slot.block));
      slot.block = {};
    }
  }

  /// Sends a block, which is complete, on its way.
  void add(std::int64_t first_row, Csr<P> block) {
    arrive(kSlots - 1);
    auto& slot = slots_[static_cast<std::size_t>(next_)];
    slot.first_row = first_row, slot.base = entries_, slot.block = std::move(block);
    offsets_.append(slot.block.indptr.data, slot.block.rows * kOffset);
    if (to_host_) {
      columns_.append(slot.block.indices.data, slot.block.indices.bytes());
      if constexpr (!is_pattern<P>) values_.append(slot.block.values.data, slot.block.values.bytes());
    }
    record(slot.landed, copies_);
    entries_ += slot.block.nnz();
    next_ = (next_ + 1) % kSlots, ++slots_used_;
  }

  Offset entries() const { return entries_; }

  Csr<P> finish(std::int64_t rows, std::int64_t cols) {
    arrive(0);
    const auto total = entries_;
    const auto there = allocate_scratch(kOffset, compute_);  // the last offset lands as the others do
    copy_async(there.get(), &total, kOffset, compute_);
    synchronize(compute_);
    offsets_.append(there.get(), kOffset);
    Csr<P> c{rows, cols, offsets_.template keep<Offset>(), {}, {}};
    if (!to_host_) return joined(c);
    trace_.link_bytes = offsets_.size() + columns_.size() + values_.size();
    c.indices = columns_.template keep<Index>();
    if constexpr (!is_pattern<P>) c.values = values_.template keep<P>();
    return c;
  }

 private:
  struct Slot {
    explicit Slot(Where where) : landed(where) {}
    OwnedEvent landed;
    std::int64_t first_row = 0;
    Offset base = 0;  // entries of the blocks before this one
    Csr<P> block = {};
  };
  Offset* offsets() const { return reinterpret_cast<Offset*>(offsets_.data()); }

  /// One array of all pieces, of which `of` gives one.
  template <class T, class F>
  Array<T> joined_arrays(const F& of) const {
    const auto whole = allocate<T>(entries_, device_place(compute_.where));
    std::int64_t done = 0;
    for (const auto& piece : pieces_) {
      const auto& part = of(piece);
      copy_async(whole.data + done, part.data, part.bytes(), compute_);
      done += part.size;
    }
    synchronize(compute_);
    return whole;
  }

  Csr<P> joined(Csr<P> c) {
    const auto indptr = allocate<Offset>(c.rows + 1, device_place(compute_.where));
    copy_async(indptr.data, c.indptr.data, indptr.bytes(), compute_);
    synchronize(compute_);
    c.indptr = indptr;
    c.indices = joined_arrays<Index>([](const Csr<P>& piece) { return piece.indices; });
    if constexpr (!is_pattern<P>)
      c.values = joined_arrays<P>([](const Csr<P>& piece) { return piece.values; });
    return c;
  }

  Stream compute_;
  OwnedStream copies_;
  bool to_host_;
  Trace& trace_;
  Landing offsets_, columns_, values_;
  std::array<Slot, kSlots> slots_;
  std::vector<Csr<P>> pieces_;
  int next_ = 0, slots_used_ = 0;
  Offset entries_ = 0;
};

}  // namespace penstock::spgemm_assembly
