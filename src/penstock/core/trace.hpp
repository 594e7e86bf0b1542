#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

/// One device's share of a product. Seconds are by its own clock and may overlap: copies, kernels and waits run at once.
struct DeviceTrace {
  int gpu = -1;                   // -1: the CPU
  std::int64_t tiles = 0;         // blocks that came over the link
  std::int64_t kept_tiles = 0;    // blocks that were there already
  std::int64_t copied_bytes = 0;  // of the matrix, over the link
  double kernel_seconds = 0;      // in kernels of blocks that came over the link
  double wait_seconds = 0;        // the driving thread's, for copies
  double seconds = 0;             // from the first operation to the last
};

/// What one product did. Every schedule fills it; explain(), benchmarks and tests read it. Bytes count the matrix,
/// x and y, each once per time that it crosses the boundary named.
struct Trace {
  std::string schedule;           // "in_core", "streamed", "zero_copy"
  std::string kernel;             // the local algorithm: "balanced", "blocked", "binned", ...
  std::int64_t tiles = 0;         // kernel calls
  std::int64_t copied_bytes = 0;  // moved into ring slots
  std::int64_t link_bytes = 0;    // crossed a host link, by copy or by zero-copy reads
  std::int64_t kernel_bytes = 0;  // least bytes that the kernels read and write
  std::int64_t ring_bytes = 0;    // device memory held by rings
  std::int64_t kept_bytes = 0;    // of the matrix, that were on the devices before
  double seconds = 0;             // the whole call
  double copy_seconds = 0;        // the driver's time in copies: issue only on a GPU, all of it on the CPU
  std::int64_t launches = -1;     // of kernels on a GPU; below 0 where they are not counted
  std::int64_t waits = -1;        // times that the calling thread waited for a GPU; below 0 likewise
  std::vector<DeviceTrace> devices = {};  // of a plan's product
};

/// Adds the time of its own life to `*total`; does nothing when that is null.
class ScopedTimer {
 public:
  explicit ScopedTimer(double* total) : total_(total) {}
  ~ScopedTimer() {
    if (total_) *total_ += std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double* total_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace penstock
