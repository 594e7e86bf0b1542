#pragma once
#include "penstock/core/device.hpp"

namespace penstock {

/// What `then` is given from now on waits for all that `first` has been given so far; the host waits for neither. Both are
/// streams of one device. A null handle is the default stream of a GPU.
inline void order_streams(Stream first, Stream then) {
  if (first.handle == then.handle) return;
  const UseDevice use(first.where);  // a null handle means the default stream of the current GPU
  const OwnedEvent reached(first.where);
  record(reached, first);
  wait(then, reached);
}

}  // namespace penstock
