#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

// What generators on a GPU share.
namespace penstock {

/// Bytes left free for the kernels' own code and for rounding.
inline constexpr std::int64_t kSpareOnGpu = 128 << 20;

/// Waits for the stream, also after an error, before memory is freed that was declared above it.
struct Drained {
  Stream stream;
  ~Drained() { drain(stream); }
};

}  // namespace penstock
