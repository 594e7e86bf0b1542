// NCCL's sends and receives, queued on the GPU: hosts do not meet. The library is opened when first asked for.
#include <array>
#include <map>
#include <mutex>

#include "penstock/core/config.hpp"
#include "penstock/dist/bounded_wait.hpp"
#include "penstock/dist/gpu_clock.hpp"
#include "penstock/dist/halo_gpu.hpp"
#include "penstock/dist/library.hpp"
#include "penstock/dist/peer.hpp"
#include "penstock/kernel/gather.hpp"
#include "penstock/kernel/sweep.hpp"

namespace penstock {
namespace {

// What of nccl.h is used here, as version 2 has it.
struct UniqueId {
  char internal[128];
};
constexpr int kSuccess = 0, kInProgress = 7, kBytes = 0;  // ncclInt8

struct Nccl {
  Nccl() : library("nccl", "libnccl.so.2", "PENSTOCK_NCCL_LIB", "pip install nvidia-nccl-cu13") {
    library.find(unique_id, "ncclGetUniqueId");
    library.find(init_rank, "ncclCommInitRank");
    library.find(abort, "ncclCommAbort");
    library.find(async_error, "ncclCommGetAsyncError");
    library.find(error_string, "ncclGetErrorString");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
    library.find(send, "ncclSend");
    library.find(receive, "ncclRecv");
  }
  void check(int status, std::string_view what) const {
    if (status != kSuccess)
      throw Error(Errc::cuda, "NCCL: " + std::string(what) + " gives " + error_string(status));
  }
  Library library;
  int (*unique_id)(UniqueId*) = nullptr;
  int (*init_rank)(void**, int, UniqueId, int) = nullptr;
  int (*abort)(void*) = nullptr;
  int (*async_error)(void*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, void*, void*) = nullptr;
};

const Nccl& nccl() {
  static const Nccl* const library = [] {
    set_unless_set("NCCL_NVLS_ENABLE", "0");  // multicast needs rights that containers often lack
    return new Nccl;                          // never closed: its threads may still run at exit
  }();
  return *library;
}

/// NCCL's communicator beside ours: for these processes and GPUs in this order, whatever Comm they speak through. Making one
/// takes a second, and ending one needs all ranks at once, which halos that end when they like cannot promise: it is kept.
struct Team {
  void* handle = nullptr;
};

std::shared_ptr<Team> team_of(const HaloContext& c, const std::string& members) {
  static std::mutex lock;
  static auto* const teams = new std::map<std::pair<int, std::string>, std::shared_ptr<Team>>;
  auto& comm = *c.comm;
  const std::pair key(comm.rank(), members);
  std::shared_ptr<Team> team;
  {
    const std::lock_guard guard(lock);
    if (const auto found = teams->find(key); found != teams->end()) team = found->second;
  }
  std::array<std::int64_t, 1> have{team && team->handle};
  comm.all_reduce(have, Reduce::min);
  if (have[0]) return team;
  team = std::make_shared<Team>();
  UniqueId id{};
  std::string why;
  if (comm.rank() == 0)
    if (const int status = nccl().unique_id(&id); status != kSuccess)
      why = std::string("ncclGetUniqueId gives ") + nccl().error_string(status);
  require_everywhere(comm, why, "halo=\"nccl\"");
  comm.broadcast(&id, sizeof id, 0);
  const UseDevice use(c.where);
  const int status = nccl().init_rank(&team->handle, comm.size(), id, comm.rank());
  require_everywhere(
      comm, status == kSuccess ? "" : std::string("ncclCommInitRank gives ") + nccl().error_string(status),
      "halo=\"nccl\"");
  const std::lock_guard guard(lock);
  (*teams)[key] = team;
  return team;
}

class NcclHalo final : public GpuHalo {
 public:
  NcclHalo(const HaloContext& c, const std::string& members)
      : GpuHalo(c),
        team_(team_of(c, members)),
        packed_(allocate<std::byte>(c.plan->sent() * c.entry_bytes, device_place(c.where))),
        done_{OwnedEvent(c.where), OwnedEvent(c.where)} {
    indices_ = indices_in(device_place(c.where));
  }
  ~NcclHalo() override { abandon(); }
  NcclHalo(const NcclHalo&) = delete;
  NcclHalo& operator=(const NcclHalo&) = delete;

  void begin(const void* x, Stream stream) override {
    if (!team_) throw Error(Errc::comm, "this exchange was given up after an error: make the matrix anew");
    // At most two are under way, so that one that never ends is found here, and by no wait without end.
    const HostClock clock;
    if (number_ >= 2) synchronize_with(comm(), done_[number_ % 2], "an exchange of NCCL");
    times_.wait += clock.seconds();
    int state = kSuccess;
    nccl().check(nccl().async_error(team_->handle, &state), "ncclCommGetAsyncError");
    if (state != kInProgress) nccl().check(state, "an exchange");
    follow(stream);
    gather(x, indices_.data, plan().sent(), entry(), packed_.data, mine_);
    const UseDevice use(where());
    void* queue = Stream(mine_).handle;
    nccl().check(nccl().group_start(), "ncclGroupStart");
    int status = kSuccess;
    const auto note = [&](int s) { status = status == kSuccess ? s : status; };
    for (const auto& m : sends(packed_.data))
      note(nccl().send(m.data, static_cast<std::size_t>(m.bytes), kBytes, m.rank, team_->handle, queue));
    for (const auto& m : receives(ghosts_.data))
      note(nccl().receive(m.data, static_cast<std::size_t>(m.bytes), kBytes, m.rank, team_->handle, queue));
    note(nccl().group_end());
    nccl().check(status, "sending and receiving");
    record(done_[number_++ % 2], mine_);
  }

  void end(Stream stream) override {
    wait(stream, done_[(number_ + 1) % 2]);
    count_exchange();
  }

  /// Kernels that wait for a rank that has failed end only with the communicator.
  void abandon() noexcept override {
    if (!team_) return;
    bool ended = number_ == 0;
    try {
      for (int i = 0; i < 1000 && !ended; ++i) {
        ended = is_done(done_[(number_ + 1) % 2]);
        if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (const Error&) {}
    if (!ended && team_->handle) {
      const UseDevice use(where());
      nccl().abort(team_->handle);
      team_->handle = nullptr;
    }
    drain(mine_);
    team_.reset();
  }

 private:
  std::shared_ptr<Team> team_;
  Array<std::byte> packed_;
  Array<const Index> indices_;
  OwnedEvent done_[2];
  std::size_t number_ = 0;
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_nccl(const HaloContext& c) {
  std::string why;
  try {
    if constexpr (!have_cuda)
      throw Error(Errc::not_compiled, "this build has no CUDA: build it with a toolkit, or choose sync");
    nccl();
  } catch (const Error& e) {
    why = e.what();
  }
  require_everywhere(*c.comm, why, "halo=\"nccl\"");
  return std::make_unique<NcclHalo>(c, require_own_gpus(c, "nccl"));
}

}  // namespace penstock
