#pragma once
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "penstock/schedule/gpu_room.hpp"
#include "penstock/schedule/lane.hpp"

namespace penstock {

struct StreamSettings {
  std::vector<Where> devices = {Where{}};
  std::int64_t slot_bytes = 0;  // 0: by the matrix's size, 1 to 32 MiB
  int slots = 3;                // of a ring; 2 is double buffering
  /// Bytes that each GPU may hold, x and rings included; 0: what is free, less a reserve (gpu_room.hpp).
  std::int64_t device_memory = 0;
  bool keep = true;              // blocks that fit stay on the devices between products
  std::int64_t entry_bytes = 8;  // of the vectors' entries, at most
  bool bounce = false;           // the matrix is in pageable memory
};

/// What one matrix needs to be multiplied again and again by GPUs whose memory it may exceed: a lane a device. What fits is
/// kept there, in equal shares; the rest travels through rings that draw from one counter, so a slow link takes fewer
/// blocks. x goes up once: a part over each link, and from GPU to GPU. After the first product with pageable
/// vectors nothing is allocated. Products with one plan take turns.
class StreamPlan {
 public:
  /// Cuts the matrix: blocks of `slot_bytes`, but first, for each device, blocks of `kept` bytes in all. A source
  /// that is cut already ignores both.
  using Cut = std::function<BlockList(std::int64_t slot_bytes, std::span<const std::int64_t> kept)>;

  /// A matrix before it is cut; `bytes` is about what its blocks come to.
  struct Shape {
    std::int64_t rows = 0, cols = 0, bytes = 0;
  };

  /// Throws Error{out_of_memory}, with the numbers, where x and a ring do not fit.
  StreamPlan(const Cut& cut, Shape matrix, const StreamSettings& settings);

  /// y = the product; x has cols entries, y rows, of `product.entry_bytes` each, in host, pinned or one GPU's memory.
  void multiply(const BlockProduct& product, VectorAt x, VectorAt y, Trace* trace = nullptr);

  /// Whether `queue` takes products with vectors on this GPU: it alone holds the plan, and the host has nothing to do but to
  /// queue copies. No row is cut into pieces, and what travels is in locked pages.
  bool can_queue(Where gpu) const;
  /// Queues the product on the GPU of the plan, in the order of the caller's stream, and returns; x and y are on that GPU.
  /// Blocks that travel go through the plan's own streams, which no CUDA graph records: without any, `stream` may be captured.
  void queue(const BlockProduct& product, VectorAt x, VectorAt y, Stream stream);

  const BlockList& list() const { return list_; }
  const StreamSettings& settings() const { return settings_; }
  const std::vector<std::unique_ptr<Lane>>& lanes() const { return lanes_; }
  std::int64_t streamed_bytes() const;
  std::int64_t streamed_blocks() const { return std::ssize(list_.blocks) - travels_first_; }
  Where home() const { return settings_.devices.front(); }

 private:
  // How a plan is made: stream_plan_build.cpp.
  void build(const Cut& cut, Shape matrix, double share);
  std::vector<GpuRoom> rooms_for(Shape matrix, double share) const;
  std::vector<LaneShape> fit(const Cut& cut, std::int64_t matrix_bytes, std::span<const GpuRoom> rooms);
  std::vector<LaneShape> assign(std::span<const std::int64_t> shares) const;
  void require_fit(std::span<const LaneShape> shapes, std::span<const GpuRoom> rooms) const;
  bool uses_gpus() const;

  // How a product goes: stream_plan.cpp.
  void check_call(const BlockProduct& product, VectorAt x, VectorAt y) const;
  void place_x(const BlockProduct& product, VectorAt x);
  void spread_from_host(const std::byte* x, std::int64_t bytes, bool pageable);
  void stage_y(LaneCall& call);
  void finish_pieces(const BlockProduct& product, VectorAt y);
  void sum_up(Trace& trace, const BlockProduct& product, VectorAt x, VectorAt y) const;
  std::byte* staging(Array<std::byte>& area, std::int64_t bytes);

  StreamSettings settings_;
  BlockList list_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::int64_t travels_first_ = 0;  // the blocks before it are kept by the lanes
  Array<std::byte> cells_;          // one entry a block, for the sums of pieces
  Array<std::byte> x_staging_, y_staging_;
  std::mutex turn_;
};

}  // namespace penstock
