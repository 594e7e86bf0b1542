#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/comm/shared_by_all.hpp"
#include "penstock/dist/halo.hpp"

namespace penstock {

/// Throws Error{not_accessible} on all ranks unless every rank's GPU reaches the memory of those that it hears from. All
/// ranks are in this process. Collective.
void require_peers(const HaloContext& context, std::string_view strategy);

/// Whether all ranks run on one machine. Collective.
bool on_one_machine(Comm& comm);

/// Who has which GPU: a line of process and GPU for each rank, in their order; whether two ranks have the same one. Throws
/// Error{not_accessible} on all ranks where one computes on no GPU, or has one that cannot be used. Collective.
struct GpuOwners {
  std::string members;
  bool shared = false;
};
GpuOwners gpu_owners(Comm& comm, Where where, std::string_view what);

/// Throws Error{not_accessible} on all ranks unless each has a GPU for itself. Who has which: processes and GPUs, in the
/// order of the ranks. Collective.
std::string require_own_gpus(const HaloContext& context, std::string_view strategy);

/// For each rank that this one sends to, where the receiver has what comes from here: the first of its ghosts. With
/// `ghosts` false the other way round: for each rank that this one receives from, where the sender has packed it.
/// Collective.
std::vector<std::int64_t> places_at_others(Comm& comm, const CommPlan& plan, bool ghosts);

}  // namespace penstock
