#pragma once
#include <cstdint>
#include <memory>

#include "penstock/comm/comm.hpp"

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

}  // namespace penstock
