// The whole vector goes to the host, the host packs, and the whole vector with its ghosts comes back: what a
// program does whose exchange knows nothing of GPUs. The other strategies are compared with it (cardellini-2014, V-B).
#include <algorithm>

#include "penstock/dist/halo/halo_gpu_staged.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

class SyncHalo final : public StagedHalo {
 public:
  explicit SyncHalo(const HaloContext& c)
      : StagedHalo(c, {}, c.plan->sent()),
        whole_(allocate<std::byte>(c.plan->owned * c.entry_bytes)),
        returned_(allocate<std::byte>(c.plan->owned * c.entry_bytes, device_place(c.where))) {}
  ~SyncHalo() override { drain(mine_); }

 private:
  void pack(const void*) override {}
  void down(const void* x) override { copy_async(whole_.data, x, whole_.bytes(), mine_); }
  void packed_on_host() override {
    gather(whole_.data, plan().send_indices.data, plan().sent(), entry(), send_.data, Stream{});
  }
  void up() override {
    // This copies the owned part too, although it has not changed.
    copy_async(returned_.data, whole_.data, whole_.bytes(), mine_);
    StagedHalo::up();
  }

  Array<std::byte> whole_, returned_;
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_sync(const HaloContext& c) { return std::make_unique<SyncHalo>(c); }

}  // namespace penstock
