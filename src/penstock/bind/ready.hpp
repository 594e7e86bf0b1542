#pragma once
#include "penstock/core/device.hpp"

namespace penstock::bind {

/// Where the memory of an array is. On return, what the array's library has queued on the default stream of that GPU is done,
/// so that other streams may read and write the array.
inline Place place_when_ready(const void* data) {
  const auto place = place_of(data);
  if (place.memory == Memory::device || place.memory == Memory::managed) {
    const Where gpu{place.ordinal};
    const UseDevice use(gpu);  // the default stream is that of the current GPU
    synchronize(Stream{nullptr, gpu});
  }
  return place;
}

}  // namespace penstock::bind
