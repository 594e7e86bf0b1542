#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "penstock/core/place.hpp"

// What launches need to know of a GPU, so that no kernel's grid or table is made for one chip. These numbers stand nowhere
// else.
namespace penstock {

/// The defaults are those of a small GPU: no real one has less.
struct GpuFacts {
  int major = 7, minor = 5;  // compute capability
  int multiprocessors = 1;
  int threads = 1024;                    // threads that a multiprocessor holds at once
  std::int64_t shared_block = 48 << 10;  // bytes of shared memory that one block may have
  std::int64_t shared = 64 << 10;        // bytes of shared memory that a multiprocessor has
  std::int64_t cache = 4 << 20;          // bytes of the second-level cache
  // Bytes per second of the GPU's memory, from clock and width of the bus. 0: the driver does not say.
  double memory_rate = 0;
  bool pools = true;           // memory is taken and given back in the order of streams
  bool shares_managed = true;  // the CPU may touch managed memory while kernels run

  bool operator==(const GpuFacts&) const = default;
};

/// The facts of one GPU. The driver is asked once for each; after that a call is as quick as a read. Throws
/// Error{not_accessible} where the GPU does not exist, and Error{invalid_argument} where PENSTOCK_EMULATE_GPU cannot be
/// obeyed.
const GpuFacts& gpu_facts(Where gpu);

/// `real` with the limits of a smaller GPU, for tests. `wanted` holds any of these, in any order: "sms=40,threads=1024,
/// shared=64KiB,cache=4MiB,capability=7.5,pools=0,managed=0". Throws Error{invalid_argument} for an unknown key, and for a
/// limit that is above the real one or below what every GPU has.
GpuFacts emulated(const GpuFacts& real, std::string_view wanted);

/// Blocks of `threads` threads that a GPU holds at once, where registers and shared memory allow it: the size of grids whose
/// blocks take one piece of work after another. No block may wait for another one of such a grid, because registers may not
/// allow that all run at once; resident_blocks() is for those.
constexpr std::int64_t blocks_at_once(const GpuFacts& gpu, int threads) {
  return std::int64_t(gpu.multiprocessors) * std::max(1, gpu.threads / threads);
}

/// The same for blocks with `bytes` of shared memory each, of which a multiprocessor takes at most `most`.
constexpr std::int64_t blocks_at_once(const GpuFacts& gpu, int threads, std::int64_t bytes, int most) {
  const auto fit = std::min<std::int64_t>(gpu.threads / threads, gpu.shared / bytes);
  return gpu.multiprocessors * std::clamp<std::int64_t>(fit, 1, most);
}

/// The least number of blocks that meet at barriers. It comes from the algorithms, not from a chip: so many blocks have as
/// many threads as the frontiers of such kernels have vertices.
inline constexpr std::int64_t kLeastBlocksThatMeet = 128;

/// The number of blocks for a kernel whose blocks meet at barriers, before it is known how many can reside at once: one a
/// multiprocessor, because fewer blocks meet faster, and at least kLeastBlocksThatMeet.
constexpr std::int64_t blocks_that_meet(const GpuFacts& gpu) {
  return std::max<std::int64_t>(gpu.multiprocessors, kLeastBlocksThatMeet);
}

namespace cuda {
const GpuFacts& gpu_facts(int gpu);
/// How many blocks of `threads` threads of a kernel reside at once on `gpu`, which must be current. A grid whose blocks wait
/// for each other may have no more. Each thread asks the driver once.
std::int64_t resident_blocks(const void* kernel, int threads, int gpu);
/// Whether a kernel's code on `gpu`, which must be current, waits by itself for the kernel before it (follow()). Only code
/// for 9.0 and later does; any other must not be launched early. Each thread asks the driver once.
bool waits_by_itself(const void* kernel, int gpu);
}  // namespace cuda

}  // namespace penstock
