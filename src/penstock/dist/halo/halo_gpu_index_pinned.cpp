// The indices stay on the GPU, whose kernel writes the packed entries into pinned host memory over the link
// (cardellini-2014, V-E, IndexPinned).
#include "penstock/dist/halo/halo_gpu_staged.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

class IndexPinnedHalo final : public StagedHalo {
 public:
  explicit IndexPinnedHalo(const HaloContext& c) : StagedHalo(c, reachable(c.where), c.plan->sent()) {
    indices_ = indices_in(device_place(c.where));
  }

 private:
  void pack(const void* x) override { gather(x, indices_.data, plan().sent(), entry(), send_.data, mine_); }
  void down(const void*) override {}
  void up() override { gather(receive_.data, nullptr, plan().ghosts(), entry(), ghosts_.data, mine_); }
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_index_pinned(const HaloContext& c) {
  return std::make_unique<IndexPinnedHalo>(c);
}

}  // namespace penstock
