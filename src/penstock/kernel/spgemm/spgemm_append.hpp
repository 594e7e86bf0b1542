#pragma once
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/format/csr.hpp"

// Appends blocks of C in their order, so that SpGEMM needs one pass instead of a symbolic and a numeric one. A thread computes
// a block of rows into a buffer that its cache holds, and the buffer is copied to its place as soon as the sizes of all blocks
// before it are known. The arrays are reserved for the upper bound and take memory as they are written, so each is written
// once and ends up exactly as large as it must be. Blocks are handed out in ascending order, so the block that all others wait
// for is always being computed.
namespace penstock {

template <class T>
struct RowBuffer {
  std::int64_t first_row = 0;
  std::vector<Offset> ends = {};  // where each row ends, counted from the buffer's begin
  Index* columns = nullptr;       // where the rows are written: in this buffer, or in the result
  T* values = nullptr;
  Offset count = 0;
  bool in_place = false;

  void make_room(Offset room, bool numbers) {
    if (own_columns_.size < room) {
      own_columns_ = {}, own_values_ = {};
      own_columns_ = allocate<Index>(room);
      if (numbers) own_values_ = allocate<T>(room);
    }
    columns = own_columns_.data, values = own_values_.data;
  }
  std::int64_t bytes() const { return own_columns_.bytes() + own_values_.bytes(); }

 private:
  Array<Index> own_columns_ = {};
  Array<T> own_values_ = {};
};

template <class T>
class OrderedAppend {
 public:
  using Buffer = std::unique_ptr<RowBuffer<T>>;
  /// `indptr` has one entry more than there are rows. If there are more than `bound` entries, put() throws
  /// Error{out_of_memory}.
  OrderedAppend(std::int64_t blocks, Offset bound, bool numbers, Offset* indptr)
      : parked_(static_cast<std::size_t>(blocks)),
        numbers_(numbers),
        bound_(bound),
        indptr_(indptr),
        columns_(bound * static_cast<Offset>(sizeof(Index))),
        values_(numbers ? bound * static_cast<Offset>(sizeof(T)) : 0) {}

  /// Where to write `block` of so many rows, which have at most `room` entries. If it is the next block, it is written in its final place.
  /// Waits if too much is parked behind a slow block.
  Buffer take(std::int64_t block, std::int64_t first_row, std::int64_t rows, Offset room) {
    auto buffer = take(block);
    buffer->first_row = first_row, buffer->count = 0;
    buffer->ends.resize(static_cast<std::size_t>(rows));
    {
      const std::lock_guard lock(lock_);
      buffer->in_place = block == next_ && end_ + room <= bound_;
      if (buffer->in_place) buffer->columns = place_columns(end_), buffer->values = place_values(end_);
    }
    if (!buffer->in_place) buffer->make_room(room, numbers_);
    return buffer;
  }

  /// Takes a block that is computed. Copies it, and those that waited for it, to their places.
  void put(std::int64_t block, Buffer buffer) {
    {
      const std::lock_guard lock(lock_);
      parked_bytes_ += buffer->bytes();
      parked_[static_cast<std::size_t>(block)] = std::move(buffer);
    }
    for (;;) {
      Buffer ready;
      Offset at;
      {
        const std::lock_guard lock(lock_);
        if (next_ == std::ssize(parked_) || !parked_[static_cast<std::size_t>(next_)]) return;
        ready = std::move(parked_[static_cast<std::size_t>(next_++)]);
        parked_bytes_ -= ready->bytes();
        at = end_, end_ += ready->count;
        if (end_ > bound_) throw too_many(ready->first_row);
      }
      changed_.notify_all();
      write(*ready, at);
      const std::lock_guard lock(lock_);
      if (ready->bytes() <= kKept) free_.push_back(std::move(ready));
    }
  }

  /// Ends all waiting: every thread that waits throws the same exception.
  void fail(std::exception_ptr why) {
    {
      const std::lock_guard lock(lock_);
      if (!failure_) failure_ = std::move(why);
    }
    changed_.notify_all();
  }

  Offset size() const { return end_; }
  Array<Index> columns() { return columns_.template keep<Index>(end_); }
  Array<T> values() { return values_.template keep<T>(numbers_ ? end_ : 0); }

 private:
  Buffer take(std::int64_t block) {
    std::unique_lock lock(lock_);
    changed_.wait(lock, [&] { return failure_ || block == next_ || parked_bytes_ < kMostParked; });
    if (failure_) std::rethrow_exception(failure_);
    if (free_.empty()) return std::make_unique<RowBuffer<T>>();
    auto buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }

  static constexpr std::int64_t kMostParked = 32 << 20;
  // Bytes of a buffer that is kept; a larger one was for one long row.
  static constexpr std::int64_t kKept = 4 << 20;

  void write(const RowBuffer<T>& b, Offset at) {
    const auto n = static_cast<std::size_t>(b.count);
    if (n > 0 && !b.in_place) {
      std::memcpy(place_columns(at), b.columns, n * sizeof(Index));
      if (numbers_) std::memcpy(static_cast<void*>(place_values(at)), b.values, n * sizeof(T));
    }
    auto* out = indptr_ + b.first_row + 1;
    for (std::size_t r = 0; r < b.ends.size(); ++r) out[r] = at + b.ends[r];
  }
  Index* place_columns(Offset at) const { return reinterpret_cast<Index*>(columns_.data()) + at; }
  T* place_values(Offset at) const { return reinterpret_cast<T*>(values_.data()) + at; }
  Error too_many(std::int64_t row) const {
    return Error(Errc::out_of_memory, "the product has more than " + std::to_string(bound_) +
                                          " entries, the most that fit the memory allowed: row " +
                                          std::to_string(row) +
                                          " was reached. Compute it in blocks of rows "
                                          "(spgemm_blocks), or write it to a store (out=)");
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<Buffer> parked_;
  std::vector<Buffer> free_;
  std::int64_t next_ = 0;
  std::int64_t parked_bytes_ = 0;
  Offset end_ = 0;
  std::exception_ptr failure_;
  bool numbers_;
  Offset bound_;
  Offset* indptr_;
  Reservation columns_, values_;
};

}  // namespace penstock
