// A kernel packs, and all that it needs is made again in each exchange: device memory for the indices and the buffer, and a
// copy of the indices. The buffer is copied to ordinary host memory (cardellini-2014, V-C).
#include "penstock/dist/halo/halo_gpu_staged.hpp"
#include "penstock/kernel/vectors/gather.hpp"

namespace penstock {
namespace {

class GatherHalo final : public StagedHalo {
 public:
  explicit GatherHalo(const HaloContext& c) : StagedHalo(c, {}, c.plan->sent()) {}

 private:
  void pack(const void* x) override {
    const auto& indices = plan().send_indices;
    scratch_ = allocate_scratch(indices.bytes(), mine_);
    more_scratch_ = allocate_scratch(send_.bytes(), mine_);
    copy_async(scratch_.get(), indices.data, indices.bytes(), mine_);
    gather(x, static_cast<const Index*>(scratch_.get()), plan().sent(), entry(), more_scratch_.get(), mine_);
  }
  void down(const void*) override { copy_async(send_.data, more_scratch_.get(), send_.bytes(), mine_); }
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_gather(const HaloContext& c) { return std::make_unique<GatherHalo>(c); }

}  // namespace penstock
