#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/comm/shared_by_all.hpp"
#include "penstock/core/place.hpp"
#include "penstock/dist/share/comm_plan.hpp"

namespace penstock {

/// Says why this rank's GPU does not reach the memory of these ranks' GPUs, and what to choose instead; empty where it does.
/// All ranks are in this process. Collective.
std::string why_unreachable(Comm& comm, Where where, std::span<const int> ranks, std::string_view instead);

/// Whether all ranks run on one machine. Collective.
bool on_one_machine(Comm& comm);

/// Which rank has which GPU: a line of process and GPU for each rank, in their order, and whether two ranks share one. Throws
/// Error{not_accessible} on all ranks where one computes on no GPU, or has one that cannot be used. Collective.
struct GpuOwners {
  std::string members;
  bool shared = false;
};
GpuOwners gpu_owners(Comm& comm, Where where, std::string_view task);

/// Throws Error{not_accessible} on all ranks unless each has a GPU for itself. Returns processes and GPUs in the order of the
/// ranks. Collective.
std::string require_own_gpus(Comm& comm, Where where, std::string_view task);

/// The processes, and what each of them says of itself, in the order of the ranks. Collective.
std::string members(Comm& comm, const std::string& mine);

/// For each rank that this one sends to, where the receiver has what comes from here: the first of its ghosts. With
/// `ghosts` false the other way round: for each rank that this one receives from, where the sender has packed it.
/// Collective.
std::vector<std::int64_t> places_at_others(Comm& comm, const CommPlan& plan, bool ghosts);

}  // namespace penstock
