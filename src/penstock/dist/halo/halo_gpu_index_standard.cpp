// The indices stay on the GPU; the buffer is made there in each exchange and copied to ordinary host memory (cardellini-2014,
// V-E, IndexStandard).
#include "penstock/dist/halo/halo_gpu_staged.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

class IndexStandardHalo final : public StagedHalo {
 public:
  explicit IndexStandardHalo(const HaloContext& c) : StagedHalo(c, {}, c.plan->sent()) {
    indices_ = indices_in(device_place(c.where));
  }

 private:
  void pack(const void* x) override {
    scratch_ = allocate_scratch(send_.bytes(), mine_);
    gather(x, indices_.data, plan().sent(), entry(), scratch_.get(), mine_);
  }
  void down(const void*) override { copy_async(send_.data, scratch_.get(), send_.bytes(), mine_); }
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_index_standard(const HaloContext& c) {
  return std::make_unique<IndexStandardHalo>(c);
}

}  // namespace penstock
