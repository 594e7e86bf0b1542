#pragma once
#include <array>
#include <atomic>
#include <deque>
#include <memory>
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
  std::byte* y_staging = nullptr;             // pinned, as large as y, where y is pageable
  std::byte* cells = nullptr;                 // pinned: one entry a block, for the sums of pieces
  bool timed = false;                         // kernels are timed, for the trace
  std::atomic<std::int64_t>* next = nullptr;  // the next block that travels
  std::atomic<bool>* stop = nullptr;          // set when another lane has failed
};

struct LaneShape {
  Where where;
  std::int64_t kept_first = 0, kept_last = 0;  // blocks [first, last) stay in the device's memory
  std::int64_t travels_last = 0;               // blocks up to here travel, if any lane claims them
  int slots = 0;                               // 0: nothing travels
  std::int64_t slot_bytes = 0, slot_rows = 0;
  std::int64_t entry_bytes = 0;
  bool bounce = false;  // the matrix is in pageable memory: copies go through pinned slots
};

/// One device's part in a plan: the blocks that it keeps, a ring of slots for those that travel, its copy of x, and
/// the streams on which they meet. All memory is taken when it is made. Kept blocks are multiplied while others travel;
/// travelling blocks go first where both wait for the GPU. y goes back as blocks end. lane_run.cpp says how a product
/// goes. (buono-2017, section 3.2, with any number of slots.)
class Lane {
 public:
  Lane(const BlockList& list, const LaneShape& shape);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// The memory that such a lane takes on its GPU: for kept blocks and their rows of y, and for all else.
  struct Need {
    std::int64_t kept = 0, fixed = 0;
    std::int64_t total() const { return kept + fixed; }
  };
  static Need bytes_needed(const BlockList& list, const LaneShape& shape);

  Where where() const { return shape_.where; }
  /// This lane's copy of x, and the stream on which to fill it: the product waits for `mark_x`.
  std::byte* x_memory() { return x_own_.data; }
  Stream x_stream() const { return copies_; }
  void mark_x() { record(x_ready_, copies_); }
  Event x_ready() const { return x_ready_; }
  void use_x(const void* x) { x_ = x; }

  /// Multiplies what is kept, and blocks from the counter until there are none. Returns with all results in place.
  void run(const LaneCall& call, DeviceTrace& trace);
  /// Queues the whole product of a lane that has the plan to itself, with x and y on its GPU, and returns. Blocks from
  /// `travelling` on go through the ring; the caller's stream multiplies the kept ones, and waits for the others in the end.
  void queue(const BlockProduct& product, std::int64_t travelling, const std::byte* x, std::byte* y,
             Stream stream);
  /// Waits until the device has let go of all memory, whatever failed.
  void abandon() noexcept;

  std::int64_t device_bytes() const { return device_bytes_; }
  std::int64_t kept_bytes() const { return kept_bytes_; }
  std::int64_t ring_bytes() const { return ring_.bytes(); }
  const LaneShape& shape() const { return shape_; }

 private:
  /// A piece of the ring, which one block after the other passes through.
  struct Slot {
    explicit Slot(Where where)
        : full(where), computed(where), returned(where), begin(where, true), end(where, true) {}
    std::byte* memory = nullptr;
    std::byte* y = nullptr;       // for the block's rows of y, on a GPU
    std::byte* bounce = nullptr;  // pinned, where the matrix is in pageable memory
    OwnedEvent full;              // the block has arrived
    OwnedEvent computed;          // the kernel has read it: the slot may be filled again
    OwnedEvent returned;          // its rows of y have left the slot
    OwnedEvent begin, end;        // of the kernel, where it is timed
    std::int64_t number = -1;     // of the block in it; -1: none
    bool timed = false;           // begin and end are still to be read
  };
  /// Rows of y (bytes from its start) that have been copied to the staging area once `done` is reached.
  struct Return {
    const OwnedEvent* done;
    std::int64_t first, bytes;
  };
  /// Copies on this stream are made by the CPU's threads, and are done when the call returns.
  static constexpr Stream kByCpu{};

  std::array<Stream, 6> streams() const;
  Array<std::byte> take(std::int64_t bytes);
  void take_ring();
  void keep_blocks();
  void copy_in(std::int64_t block, std::byte* slot, std::byte* bounce);

  bool writes_in_place(const LaneCall& call) const;
  std::byte* y_for(const RowBlock& b, std::int64_t number, std::byte* own, const LaneCall& call) const;
  void take_rows(const RowBlock& b, void* y, const LaneCall& call, Stream stream);
  bool bring_back(const RowBlock& b, std::int64_t number, const void* y, const LaneCall& call, Stream stream);
  void start_kept(const LaneCall& call, DeviceTrace& trace);
  void mark_kept(std::int64_t done, const LaneCall& call);
  void fill(Slot& slot, const LaneCall& call, DeviceTrace& trace);
  void compute(Slot& slot, const LaneCall& call, DeviceTrace& trace);
  void land_first(std::deque<Return>& queue, const LaneCall& call);
  void collect(const LaneCall& call, bool all);

  const BlockList& list_;
  LaneShape shape_;
  std::int64_t device_bytes_ = 0, kept_bytes_ = 0;
  OwnedStream copies_, compute_, back_, side_, other_side_, side_back_;
  OwnedEvent x_ready_, kept_done_;
  Array<std::byte> ring_, kept_, kept_y_, x_own_, y_ring_, cells_, bounce_;
  std::vector<std::int64_t> kept_at_;  // where each kept block begins in kept_
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<OwnedEvent>> marks_;  // each: a part of the kept rows is in the staging area
  std::int64_t marked_ = 0;                         // kept blocks before the last mark of this product
  std::deque<Return> returns_, kept_returns_;
  const void* x_ = nullptr;
  std::atomic<bool> queued_ = false;  // streams of others may still read what is kept
};

}  // namespace penstock
