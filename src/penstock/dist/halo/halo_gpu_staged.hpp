#pragma once
#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/gpu_clock.hpp"

namespace penstock {

/// An exchange through host memory: pack() on the GPU, down() to the host, messages between hosts, up() to the GPU. Meanwhile
/// the caller's own work runs on its stream, because begin() queues the packing and does not wait for it.
class StagedHalo : public GpuHalo {
 public:
  /// `buffers`: the host memory that messages are sent from and received in. `send_entries`: entries of the first of the two.
  StagedHalo(const HaloContext& context, Place buffers, std::int64_t send_entries);
  ~StagedHalo() override;
  StagedHalo(const StagedHalo&) = delete;
  StagedHalo& operator=(const StagedHalo&) = delete;
  void begin(const void* x, Stream stream) final;
  void end(Stream stream) final;

 protected:
  // Each of these queues work on mine_. The host memory that they read and write is not touched before that work is done.
  virtual void pack(const void* x) = 0;
  virtual void down(const void* x) = 0;
  virtual void packed_on_host() {}  // called when the work of down() is done: work for the CPU
  virtual void up();
  /// Called before the messages are posted, with x as given to begin().
  virtual void post(const void* x);

  Array<std::byte> send_, receive_;  // host memory
  std::unique_ptr<Exchange> exchange_;
  // What a strategy keeps. It is here so that it is freed after the stream has been drained.
  Array<const Index> indices_;
  Array<std::byte> packed_;
  std::shared_ptr<void> scratch_, more_scratch_;

 private:
  void settle();
  const void* x_ = nullptr;
  StreamMark begun_, packed_mark_, down_begun_, down_mark_, up_begun_, up_mark_;
};

/// The place of host memory: pinned where a GPU must reach it.
inline Place reachable(Where where) { return where.is_gpu() ? Place{Memory::pinned} : Place{}; }

}  // namespace penstock
