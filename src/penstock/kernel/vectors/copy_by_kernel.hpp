#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

// Copies by a GPU's multiprocessors. They begin in a third of the time that a copy engine takes, and several run at once.
namespace penstock {

/// Whether a kernel may do this copy: both addresses must be multiples of 16.
inline bool kernel_copies(const void* to, const void* from) {
  return (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % 16 == 0;
}

namespace gpu {
/// Copies bytes >= 1. kernel_copies(to, from) must hold. Kernels of the stream's GPU must reach both ends, which may be memory
/// of another GPU, and do not overlap.
void copy_by_kernel(void* to, const void* from, std::int64_t bytes, Stream stream);
}  // namespace gpu

}  // namespace penstock
