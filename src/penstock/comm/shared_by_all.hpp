#pragma once
#include <memory>

#include "penstock/comm/comm.hpp"

namespace penstock {

/// One object for the ranks that are threads of this process: rank 0 makes it, and it lives until all ranks have let go of it.
/// Collective.
template <class T, class Make>
std::shared_ptr<T> shared_by_all(Comm& comm, Make&& make) {
  std::shared_ptr<void> mine;
  if (comm.rank() == 0) mine = make();
  return std::static_pointer_cast<T>(comm.share(std::move(mine)).front());
}

}  // namespace penstock
