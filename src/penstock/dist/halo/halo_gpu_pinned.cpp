// Indices and buffers are in pinned host memory, which the kernels read and write over the link: nothing is copied, and no
// memory is taken or freed in an exchange (cardellini-2014, V-D).
#include "penstock/dist/halo/halo_gpu_staged.hpp"
#include "penstock/kernel/vectors/gather.hpp"

namespace penstock {
namespace {

class PinnedHalo final : public StagedHalo {
 public:
  explicit PinnedHalo(const HaloContext& c) : StagedHalo(c, reachable(c.where), c.plan->sent()) {
    indices_ = indices_in(reachable(c.where));
  }

 private:
  void pack(const void* x) override { gather(x, indices_.data, plan().sent(), entry(), send_.data, mine_); }
  void down(const void*) override {}
  void up() override { gather(receive_.data, nullptr, plan().ghosts(), entry(), ghosts_.data, mine_); }
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_pinned(const HaloContext& c) { return std::make_unique<PinnedHalo>(c); }

}  // namespace penstock
