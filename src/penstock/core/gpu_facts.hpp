#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "penstock/core/place.hpp"

// What launches ask of a GPU, so that no kernel's grid or table is made for one chip. The one owner of these numbers.
namespace penstock {

/// The defaults are a small GPU's, never more than a real one has.
struct GpuFacts {
  int major = 7, minor = 5;  // compute capability
  int multiprocessors = 1;
  int threads = 1024;                    // that a multiprocessor holds at once
  std::int64_t shared_block = 48 << 10;  // bytes of shared memory that one block may have
  std::int64_t shared = 64 << 10;        // that a multiprocessor has
  std::int64_t cache = 4 << 20;          // bytes of the second-level cache
  double memory_rate =
      0;  // bytes per second of its memory, by clock and width of the bus; 0: the driver does not say
  bool pools = true;           // memory is taken and given back in the order of streams
  bool shares_managed = true;  // the CPU may touch managed memory while kernels run

  bool operator==(const GpuFacts&) const = default;
};

/// Asked of the driver once a GPU; after that as quick as a read. Throws Error{not_accessible} where it does not exist, and
/// Error{invalid_argument} where PENSTOCK_EMULATE_GPU cannot be obeyed.
const GpuFacts& gpu_facts(Where gpu);

/// `real` with the limits of a smaller GPU, for tests: "sms=40,threads=1024,shared=64KiB,cache=4MiB,capability=7.5,pools=0,
/// managed=0", any of them, in any order. Throws Error{invalid_argument} for what it does not know, and for limits that are
/// above the real ones or below what every GPU has.
GpuFacts emulated(const GpuFacts& real, std::string_view wanted);

/// Blocks of `threads` threads that a GPU holds at once, where registers and shared memory allow it. Grids that walk their
/// work are so large. Nothing may wait on it that all of them run: registers may not allow it (resident_blocks()).
constexpr std::int64_t blocks_at_once(const GpuFacts& gpu, int threads) {
  return std::int64_t(gpu.multiprocessors) * std::max(1, gpu.threads / threads);
}

/// The same, of blocks with `bytes` of shared memory each, and of a multiprocessor at most `most` of them.
constexpr std::int64_t blocks_at_once(const GpuFacts& gpu, int threads, std::int64_t bytes, int most) {
  const auto fit = std::min<std::int64_t>(gpu.threads / threads, gpu.shared / bytes);
  return gpu.multiprocessors * std::clamp<std::int64_t>(fit, 1, most);
}

/// Blocks of a kernel whose blocks meet at barriers, before it is known how many reside: one a multiprocessor, as fewer meet
/// faster, and so many threads as the frontiers of such kernels have vertices (not the chip's number, but the algorithms').
constexpr std::int64_t blocks_that_meet(const GpuFacts& gpu) {
  return std::max<std::int64_t>(gpu.multiprocessors, 128);
}

namespace cuda {
const GpuFacts& gpu_facts(int gpu);
/// Blocks of `threads` threads of a kernel that reside at once on a GPU, which is current: what a grid that waits for all of
/// its blocks may have at most. Asked of the driver once a thread.
std::int64_t resident_blocks(const void* kernel, int threads, int gpu);
/// Whether a kernel's code on a GPU, which is current, waits for the kernel before it by itself (follow()), as only code for
/// 9.0 and later does: any other must not be launched early. Asked of the driver once a thread.
bool waits_by_itself(const void* kernel, int gpu);
}  // namespace cuda

}  // namespace penstock
