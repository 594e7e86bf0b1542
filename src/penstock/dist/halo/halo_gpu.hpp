#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "penstock/dist/halo/halo.hpp"

// Exchanges for vectors in the memory of a GPU. The paper's list (cardellini-2014) goes through host memory: `sync`,
// `gather`, `pinned`, `index_standard`, `index_pinned`; `device` and `device_indexed` hand GPU memory to the messages.
// Beyond it GPUs talk to one another: `peer`, `peer_packed`, `nccl`, `nvshmem`. All but the last two also run where the CPU
// is the device, which is how they are tested without a GPU.
namespace penstock {

/// What all these strategies have: a stream of their own, and the ghosts.
class GpuHalo : public Halo {
 public:
  explicit GpuHalo(const HaloContext& context);
  const void* ghosts() const final { return ghosts_.data; }
  /// Between begin() and end(): what is queued on `beside` from now on waits for what the caller had queued before begin().
  virtual void follow_beginning(Stream beside) { wait(beside, before_); }
  /// For use after an exception between begin() and end(): returns when no other rank reads x any more or will read it. No
  /// further exchange is possible.
  virtual void abandon() noexcept {}

 protected:
  const CommPlan& plan() const { return *context_.plan; }
  Comm& comm() const { return *context_.comm; }
  std::int64_t entry() const { return context_.entry_bytes; }
  Where where() const { return context_.where; }
  /// Makes what is queued here from now on wait for what the caller has queued so far.
  void follow(Stream stream);
  void count_exchange();
  /// The messages of this plan; packed entries are at `send`, ghosts at `receive`.
  std::vector<Message> sends(std::byte* send) const;
  std::vector<Message> receives(std::byte* receive) const;
  /// A copy of plan().send_indices in memory of that place.
  Array<const Index> indices_in(Place place);

  HaloContext context_;
  OwnedStream mine_;
  OwnedEvent before_;  // what the caller had queued
  Array<std::byte> ghosts_;
};

/// Makes a strategy by its name, one of gpu_halos(), or "auto" for the choice of choose_gpu_halo(). Collective. Throws
/// what make_halo throws, on all ranks alike.
std::unique_ptr<GpuHalo> make_gpu_halo(std::string_view strategy, const HaloContext& context);
std::vector<Choice> gpu_halos();  // the list, without "auto"

/// The fastest strategy for this plan: those that can work here and could be it are made and timed with the plan itself, by
/// the slowest rank. The same answer on all ranks. Collective.
std::string_view choose_gpu_halo(const HaloContext& context);

/// Throws Error{not_accessible} on all ranks unless every rank's GPU reaches the memory of the GPUs that it receives from. All
/// ranks are in this process. Collective.
void require_peers(const HaloContext& context, std::string_view strategy);

std::unique_ptr<GpuHalo> halo_gpu_sync(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_gather(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_pinned(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_index_standard(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_index_pinned(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_device(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_device_indexed(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_peer(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_peer_packed(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_nccl(const HaloContext&);
std::unique_ptr<GpuHalo> halo_gpu_nvshmem(const HaloContext&);

}  // namespace penstock
