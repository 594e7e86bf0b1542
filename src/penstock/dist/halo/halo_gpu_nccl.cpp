// NCCL's sends and receives, queued on the GPUs; the hosts exchange nothing.
#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/gpu_clock.hpp"
#include "penstock/dist/link/nccl.hpp"
#include "penstock/dist/link/peer.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr std::string_view kWhat = "halo=\"nccl\"";

class NcclHalo final : public GpuHalo {
 public:
  NcclHalo(const HaloContext& c, const std::string& members)
      : GpuHalo(c),
        team_(nccl_team(*c.comm, c.where, members, kWhat)),
        packed_(allocate<std::byte>(c.plan->sent() * c.entry_bytes, device_place(c.where))),
        done_{OwnedEvent(c.where), OwnedEvent(c.where)} {
    indices_ = indices_in(device_place(c.where));
  }
  ~NcclHalo() override { abandon(); }
  NcclHalo(const NcclHalo&) = delete;
  NcclHalo& operator=(const NcclHalo&) = delete;

  void begin(const void* x, Stream stream) override {
    if (!team_) throw Error(Errc::comm, "this exchange was given up after an error: make the matrix anew");
    // At most two exchanges are under way, so that one that never ends is noticed here, where the wait has a limit.
    const HostClock clock;
    if (number_ >= 2) synchronize_with(comm(), done_[number_ % 2], "an exchange of NCCL");
    times_.wait += clock.seconds();
    team_->require_well();
    follow(stream);
    gather(x, indices_.data, plan().sent(), entry(), packed_.data, mine_);
    const UseDevice use(where());
    void* queue = Stream(mine_).handle;
    nccl().check(nccl().group_start(), "ncclGroupStart");
    int status = Nccl::kSuccess;
    const auto note = [&](int s) { status = status == Nccl::kSuccess ? s : status; };
    for (const auto& m : sends(packed_.data))
      note(
          nccl().send(m.data, static_cast<std::size_t>(m.bytes), Nccl::kBytes, m.rank, team_->handle, queue));
    for (const auto& m : receives(ghosts_.data))
      note(nccl().receive(m.data, static_cast<std::size_t>(m.bytes), Nccl::kBytes, m.rank, team_->handle,
                          queue));
    note(nccl().group_end());
    nccl().check(status, "sending and receiving");
    record(done_[number_++ % 2], mine_);
  }

  void end(Stream stream) override {
    wait(stream, done_[(number_ + 1) % 2]);
    count_exchange();
  }

  void abandon() noexcept override {
    if (!team_) return;
    end_or_abort(*team_, mine_);
    drain(mine_);
    team_.reset();
  }

 private:
  std::shared_ptr<NcclTeam> team_;
  Array<std::byte> packed_;
  Array<const Index> indices_;
  OwnedEvent done_[2];
  std::size_t number_ = 0;
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_nccl(const HaloContext& c) {
  require_nccl(*c.comm, kWhat);
  return std::make_unique<NcclHalo>(c, require_own_gpus(*c.comm, c.where, "halo=\"nccl\""));
}

}  // namespace penstock
