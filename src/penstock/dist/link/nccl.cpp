#include "penstock/dist/link/nccl.hpp"

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "penstock/core/config.hpp"
#include "penstock/core/gpu_code.hpp"
#include "penstock/dist/link/bounded_wait.hpp"

namespace penstock {

Nccl::Nccl() : library("nccl", "libnccl.so.2", "PENSTOCK_NCCL_LIB", "pip install nvidia-nccl-cu13") {
  library.find(unique_id, "ncclGetUniqueId");
  library.find(init_rank, "ncclCommInitRank");
  library.find(abort, "ncclCommAbort");
  library.find(async_error, "ncclCommGetAsyncError");
  library.find(error_string, "ncclGetErrorString");
  library.find(group_start, "ncclGroupStart");
  library.find(group_end, "ncclGroupEnd");
  library.find(send, "ncclSend");
  library.find(receive, "ncclRecv");
  library.find(broadcast, "ncclBroadcast");
}

void Nccl::check(int status, std::string_view task) const {
  if (status != kSuccess)
    throw Error(Errc::cuda, "NCCL: " + std::string(task) + " gives " + error_string(status));
}

const Nccl& nccl() {
  static const Nccl* const library = [] {
    set_unless_set("NCCL_NVLS_ENABLE", "0");  // multicast needs rights that containers often lack
    return new Nccl;  // never freed: NCCL's threads may still run when the process ends
  }();
  return *library;
}

void require_nccl(Comm& comm, std::string_view task) {
  std::string why;
  try {
    if constexpr (!have_cuda) throw Error(Errc::not_compiled, no_cuda_for("NCCL") + ", or choose sync");
    nccl();
  } catch (const Error& e) {
    why = e.what();
  }
  require_everywhere(comm, why, task);
}

void NcclTeam::require_well() const {
  int state = Nccl::kSuccess;
  nccl().check(nccl().async_error(handle, &state), "ncclCommGetAsyncError");
  if (state != Nccl::kInProgress) nccl().check(state, "an exchange");
}

std::shared_ptr<NcclTeam> nccl_team(Comm& comm, Where where, const std::string& members,
                                    std::string_view task) {
  static std::mutex lock;
  static auto* const teams = new std::map<std::pair<int, std::string>, std::shared_ptr<NcclTeam>>;
  const std::pair key(comm.rank(), members);
  std::shared_ptr<NcclTeam> team;
  {
    const std::lock_guard guard(lock);
    if (const auto found = teams->find(key); found != teams->end()) team = found->second;
  }
  std::array<std::int64_t, 1> have{team && team->handle};
  comm.all_reduce(have, Reduce::min);
  if (have[0]) return team;
  team = std::make_shared<NcclTeam>();
  Nccl::UniqueId id{};
  std::string why;
  if (comm.rank() == 0)
    if (const int status = nccl().unique_id(&id); status != Nccl::kSuccess)
      why = std::string("ncclGetUniqueId gives ") + nccl().error_string(status);
  require_everywhere(comm, why, task);
  comm.broadcast(&id, sizeof id, 0);
  const UseDevice use(where);
  const int status = nccl().init_rank(&team->handle, comm.size(), id, comm.rank());
  require_everywhere(
      comm,
      status == Nccl::kSuccess ? "" : std::string("ncclCommInitRank gives ") + nccl().error_string(status),
      task);
  const std::lock_guard guard(lock);
  (*teams)[key] = team;
  return team;
}

void end_or_abort(NcclTeam& team, Stream stream) noexcept {
  bool ended = false;
  try {
    const OwnedEvent last(stream.where);
    record(last, stream);
    constexpr int kLastWait = 1000;  // milliseconds
    for (int i = 0; i < kLastWait && !ended; ++i) {
      ended = is_done(last);
      if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const Error&) {  // here the GPU itself has failed
  }
  if (ended || !team.handle) return;
  try {
    const UseDevice use(stream.where);
    nccl().abort(team.handle);
  } catch (const Error&) {}
  team.handle = nullptr;
}

}  // namespace penstock
