#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/dist/halo.hpp"

namespace penstock {

/// One object for the ranks that are threads of this process: rank 0 makes it, the last one to let go ends it.
/// Collective.
template <class T, class Make>
std::shared_ptr<T> shared_by_all(Comm& comm, Make&& make) {
  std::shared_ptr<T>* first = comm.rank() == 0 ? new std::shared_ptr<T>(make()) : nullptr;
  auto address = reinterpret_cast<std::uintptr_t>(first);
  comm.broadcast(&address, sizeof address, 0);
  const auto object = *reinterpret_cast<std::shared_ptr<T>*>(address);
  comm.barrier();  // an exception here leaks `first`: another rank may still be copying it
  if (comm.rank() == 0) delete first;
  return object;
}

/// Throws Error{not_accessible} on all ranks unless every rank's GPU reaches the memory of those that it hears from. All
/// ranks are in this process. Collective.
void require_peers(const HaloContext& context, std::string_view strategy);

/// Whether all ranks run on one machine. Collective.
bool on_one_machine(Comm& comm);

/// Throws Error{not_accessible} on all ranks unless each has a GPU for itself. Who has which: processes and GPUs, in the
/// order of the ranks. Collective.
std::string require_own_gpus(const HaloContext& context, std::string_view strategy);

/// For each rank that this one sends to, where the receiver has what comes from here: the first of its ghosts. With
/// `ghosts` false the other way round: for each rank that this one receives from, where the sender has packed it.
/// Collective.
std::vector<std::int64_t> places_at_others(Comm& comm, const CommPlan& plan, bool ghosts);

}  // namespace penstock
