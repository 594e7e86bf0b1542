#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/schedule/block_source.hpp"

namespace penstock {

/// A vector and where it is: host (pageable), pinned, or on one GPU.
struct VectorAt {
  std::byte* data = nullptr;
  Place place;
};

/// What every lane of one product needs to know.
struct LaneCall {
  const BlockProduct* product = nullptr;
  VectorAt y;
  std::byte* y_staging = nullptr;  // pinned, as large as y, where y is pageable
  std::byte* cells = nullptr;      // pinned: one entry a block, for the sums of pieces
  bool timed = false;
  std::atomic<std::int64_t>* next = nullptr;  // the next block that travels
  std::atomic<bool>* stop = nullptr;          // another lane has failed
};

struct LaneShape {
  Where where;
  std::int64_t kept_first = 0, kept_last = 0;  // blocks [first, last) stay in the device's memory
  std::int64_t travels_last = 0;               // blocks up to here travel, if anybody claims them
  int slots = 0;                               // 0: nothing travels
  std::int64_t slot_bytes = 0, slot_rows = 0;
  std::int64_t entry_bytes = 0;
  bool bounce = false;  // the matrix is in pageable memory: copies go through pinned slots
};

/// One device's part in a plan: the blocks that it keeps, a ring of slots for those that travel, its copy of x, and
/// the streams on which they meet. All memory is taken when it is made. Kept blocks are multiplied while others
/// travel, behind them in urgency; y goes back as blocks end. (buono-2017, section 3.2, with any number of slots.)
class Lane {
 public:
  Lane(const BlockList& list, const LaneShape& shape);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// The memory that such a lane takes on its GPU; of kept blocks and their results alone, if asked.
  static std::int64_t bytes_needed(const BlockList& list, const LaneShape& shape, bool kept_only = false);

  Where where() const { return shape_.where; }
  /// This lane's copy of x, and the stream on which to fill it: the product waits for `mark_x`.
  std::byte* x_memory();
  Stream x_stream() const { return copies_; }
  void mark_x() { record(x_ready_, copies_); }
  Event x_ready() const { return x_ready_; }
  void use_x(const void* x) { x_ = x; }

  /// Multiplies what is kept, and blocks from the counter until there are none. Returns with all results in place.
  void run(const LaneCall& call, DeviceTrace& trace);
  /// Waits until the device has let go of all memory, whatever failed.
  void abandon() noexcept;

  std::int64_t device_bytes() const { return device_bytes_; }
  std::int64_t kept_bytes() const { return kept_bytes_; }
  std::int64_t ring_bytes() const { return ring_.bytes(); }
  const LaneShape& shape() const { return shape_; }

 private:
  struct Slot;
  /// Rows of y (bytes from its start) that have been copied to the staging area once `done` is reached.
  struct Return {
    const OwnedEvent* done;
    std::int64_t first, bytes;
  };

  std::array<Stream, 6> streams() const;
  void keep_blocks();
  void copy_in(std::int64_t block, std::byte* slot, std::byte* bounce);
  void fill(Slot& slot, const LaneCall& call, DeviceTrace& trace);
  void compute(Slot& slot, const LaneCall& call, DeviceTrace& trace);
  void start_kept(const LaneCall& call, DeviceTrace& trace);
  std::byte* y_for(const RowBlock& b, std::int64_t number, std::byte* own, const LaneCall& call) const;
  void take_rows(const RowBlock& b, void* y, const LaneCall& call, Stream stream);
  bool bring_back(const RowBlock& b, std::int64_t number, const void* y, const LaneCall& call, Stream stream);
  void land_first(std::deque<Return>& queue, const LaneCall& call);
  void collect(const LaneCall& call, bool all);
  bool writes_in_place(const LaneCall& call) const;
  Array<std::byte> take(std::int64_t bytes);

  const BlockList& list_;
  LaneShape shape_;
  std::int64_t device_bytes_ = 0, kept_bytes_ = 0;
  OwnedStream copies_, compute_, back_, side_, other_side_, side_back_;
  OwnedEvent x_ready_, kept_done_;
  Array<std::byte> ring_, kept_, kept_y_, x_own_, y_ring_, cells_, bounce_;
  std::vector<std::int64_t> kept_at_;  // where each kept block begins in kept_
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<OwnedEvent>> marks_;  // on the way of kept results
  std::deque<Return> returns_, kept_returns_;
  const void* x_ = nullptr;
};

}  // namespace penstock
