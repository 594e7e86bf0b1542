// Messages that start and end in GPU memory; an MPI that knows of GPUs moves them. `device` packs entries by a kernel,
// `device_indexed` leaves packing to a derived type (cardellini-2014, V-F).
#include <cstdlib>
#include <string>

#include "penstock/dist/halo/halo_gpu_staged.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

void require_reach(const HaloContext& c, std::string_view name) {
  const char* forced = std::getenv("PENSTOCK_GPU_AWARE");
  const bool ok = !c.where.is_gpu() || c.comm->reaches_gpus() || (forced && std::string_view(forced) == "1");
  require_everywhere(
      *c.comm,
      ok ? ""
         : "messages of " + c.comm->name() +
               " cannot start in GPU memory, as far as it says: use an MPI built with CUDA, set "
               "PENSTOCK_GPU_AWARE=1 where you know better, or choose index_pinned or peer",
      "halo=\"" + std::string(name) + "\"");
}

class DeviceHalo final : public StagedHalo {
 public:
  explicit DeviceHalo(const HaloContext& c) : StagedHalo(c, {}, 0) {
    packed_ = allocate<std::byte>(c.plan->sent() * c.entry_bytes, device_place(c.where));
    indices_ = indices_in(device_place(c.where));
    exchange_ = comm().persistent(sends(packed_.data), receives(ghosts_.data));
  }

 private:
  void pack(const void* x) override { gather(x, indices_.data, plan().sent(), entry(), packed_.data, mine_); }
  void down(const void*) override {}
  void up() override {}
};

class DeviceIndexedHalo final : public StagedHalo {
 public:
  explicit DeviceIndexedHalo(const HaloContext& c) : StagedHalo(c, {}, 0) {}

 private:
  void pack(const void*) override {}
  void down(const void*) override {}
  void up() override {}
  void post(const void* x) override {
    const auto* base = static_cast<const std::byte*>(x);
    if (!made_) {
      std::vector<IndexedMessage> list;
      const auto& offsets = plan().send_offsets;
      for (std::size_t i = 0; i < plan().send_ranks.size(); ++i)
        list.push_back(
            {plan().send_ranks[i], plan().send_indices.data + offsets[i], offsets[i + 1] - offsets[i]});
      exchange_ = comm().indexed(base, entry(), std::move(list), receives(ghosts_.data));
      made_ = true;
    } else {
      exchange_->rebase(base);
    }
    exchange_->start();
  }
  bool made_ = false;  // it is made in the first exchange, when the address of x is known
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_device(const HaloContext& c) {
  require_reach(c, "device");
  return std::make_unique<DeviceHalo>(c);
}
std::unique_ptr<GpuHalo> halo_gpu_device_indexed(const HaloContext& c) {
  require_reach(c, "device_indexed");
  return std::make_unique<DeviceIndexedHalo>(c);
}

}  // namespace penstock
