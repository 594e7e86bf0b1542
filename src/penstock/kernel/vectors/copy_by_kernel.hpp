#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

// Copies by a GPU's multiprocessors: they begin in a third of the time that a copy engine takes, and several go on at once.
namespace penstock {

/// Whether a kernel of stream's GPU may take this copy: both addresses are multiples of 16.
inline bool kernel_copies(const void* to, const void* from) {
  return (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % 16 == 0;
}

namespace gpu {
/// kernel_copies(to, from); both ends are memory that kernels of the stream's GPU reach, another GPU's for one. They do not
/// overlap. bytes >= 1.
void copy_by_kernel(void* to, const void* from, std::int64_t bytes, Stream stream);
}  // namespace gpu

}  // namespace penstock
