#pragma once
#include <cstdint>

namespace penstock {

/// What a thread has asked of GPUs since it began, for traces: launches of kernels through launch_gpu.cuh and of SpGEMM's (a
/// prefix sum of CUB counts as one), and waits for a stream or an event. The difference of two readings is what the calls
/// between them did.
struct DeviceCalls {
  std::int64_t launches = 0, waits = 0;
  friend DeviceCalls operator-(const DeviceCalls& a, const DeviceCalls& b) {
    return {a.launches - b.launches, a.waits - b.waits};
  }
};

/// The calling thread's.
DeviceCalls& device_calls() noexcept;

}  // namespace penstock
