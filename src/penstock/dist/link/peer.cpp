#include "penstock/dist/link/peer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "penstock/dist/link/bounded_wait.hpp"

namespace penstock {
namespace {

using Name = std::array<char, 96>;

std::vector<Name> gather_names(Comm& comm, const std::string& mine) {
  Name own{};
  mine.copy(own.data(), own.size() - 1);
  std::vector<Name> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(own.data(), sizeof own, all.data());
  return all;
}

/// Asking the driver takes milliseconds.
std::string bus_of(int gpu) {
  static std::mutex lock;
  static std::map<int, std::string> known;
  const std::lock_guard guard(lock);
  auto& bus = known[gpu];
  if (bus.empty()) bus = gpu_info(gpu).bus;
  return bus;
}

std::string machine_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 48> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + " " + boot;
}

}  // namespace

std::string why_unreachable(Comm& comm, Where where, std::span<const int> ranks, std::string_view instead) {
  const auto mine = static_cast<std::int64_t>(where.gpu);
  std::vector<std::int64_t> gpus(static_cast<std::size_t>(comm.size()));
  comm.all_gather(&mine, sizeof mine, gpus.data());
  std::string why;
  for (const int rank : ranks) {
    const Where theirs{static_cast<int>(gpus[static_cast<std::size_t>(rank)])};
    if (where.is_gpu() != theirs.is_gpu()) {
      why = "some ranks compute on GPUs and some on the CPU: give all of them a device=";
    } else if (where.is_gpu()) {
      try {
        if (!enable_peer(where, theirs))
          why = "GPU " + std::to_string(mine) + " does not reach the memory of GPU " +
                std::to_string(theirs.gpu) + " (nvidia-smi topo -p2p r): choose " + std::string(instead);
      } catch (const Error& e) {
        why = e.what();
      }
    }
  }
  return why;
}

bool on_one_machine(Comm& comm) {
  const auto names = gather_names(comm, machine_name());
  return std::all_of(names.begin(), names.end(), [&](const Name& n) { return n == names[0]; });
}

std::string members(Comm& comm, const std::string& mine) {
  std::string all;
  for (const auto& name : gather_names(comm, std::to_string(getpid()) + " " + mine))
    all += std::string(name.data()) + "\n";
  return all;
}

GpuOwners gpu_owners(Comm& comm, Where where, std::string_view task) {
  std::string why, mine;
  if (!where.is_gpu()) {
    why = "its memory is the host's: give a device=";
  } else {
    try {
      // Where this is too long, the end of the machine's name is cut off.
      mine = bus_of(where.gpu) + " " + machine_name();
    } catch (const Error& e) {
      why = e.what();
    }
  }
  auto names = gather_names(comm, mine);
  require_everywhere(comm, why, task);
  std::sort(names.begin(), names.end());
  const bool shared = std::adjacent_find(names.begin(), names.end()) != names.end();
  return {members(comm, mine), shared};
}

std::string require_own_gpus(Comm& comm, Where where, std::string_view task) {
  auto owners = gpu_owners(comm, where, task);
  require_everywhere(comm,
                     owners.shared ? "two ranks share a GPU, and this strategy needs one for each: choose "
                                     "peer or index_pinned"
                                   : "",
                     task);
  return std::move(owners.members);
}

std::vector<std::int64_t> places_at_others(Comm& comm, const CommPlan& plan, bool ghosts) {
  const auto& tell = ghosts ? plan.receive_ranks : plan.send_ranks;
  const auto& hear = ghosts ? plan.send_ranks : plan.receive_ranks;
  auto told = ghosts ? plan.receive_offsets : plan.send_offsets;
  std::vector<std::int64_t> heard(hear.size());
  std::vector<Message> out, in;
  for (std::size_t i = 0; i < tell.size(); ++i)
    out.push_back({tell[i], reinterpret_cast<std::byte*>(&told[i]), sizeof(std::int64_t)});
  for (std::size_t i = 0; i < hear.size(); ++i)
    in.push_back({hear[i], reinterpret_cast<std::byte*>(&heard[i]), sizeof(std::int64_t)});
  const auto exchange = comm.persistent(std::move(out), std::move(in));
  exchange->start();
  exchange->finish();
  return heard;
}

}  // namespace penstock
