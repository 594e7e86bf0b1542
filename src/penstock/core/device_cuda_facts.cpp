// What launches need to know of a GPU and of a kernel's code on it. The driver is asked once.
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "penstock/core/check_cuda.hpp"
#include "penstock/core/device_impl.hpp"
#include "penstock/core/gpu_facts.hpp"

namespace penstock::cuda {
namespace {

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, gpu));
  return value;
}

GpuFacts ask(int gpu) {
  require_gpu(gpu);
  const auto of = [gpu](cudaDeviceAttr which) { return attribute(which, gpu); };
  GpuFacts f;
  f.major = of(cudaDevAttrComputeCapabilityMajor), f.minor = of(cudaDevAttrComputeCapabilityMinor);
  f.multiprocessors = of(cudaDevAttrMultiProcessorCount);
  f.threads = of(cudaDevAttrMaxThreadsPerMultiProcessor);
  f.shared_block = of(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  f.shared = of(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  f.cache = of(cudaDevAttrL2CacheSize);
  // The clock is given in kHz and the width in bits, and memory makes two transfers a clock.
  f.memory_rate = 2e3 * of(cudaDevAttrMemoryClockRate) * of(cudaDevAttrGlobalMemoryBusWidth) / 8;
  f.pools = of(cudaDevAttrMemoryPoolsSupported) != 0;
  f.shares_managed = of(cudaDevAttrConcurrentManagedAccess) != 0;
  const char* const wanted = std::getenv("PENSTOCK_EMULATE_GPU");
  return wanted ? emulated(f, wanted) : f;
}

/// The answers about kernels that this thread asked for lately. A kernel is known by its address; `threads` is the size of
/// the blocks that the answer is for, 0 where it does not matter.
class Lately {
 public:
  template <class F>
  std::int64_t operator()(const void* kernel, int gpu, int threads, F&& find) {
    auto& one =
        kept_[((reinterpret_cast<std::uintptr_t>(kernel) >> 4) + static_cast<unsigned>(gpu)) % kept_.size()];
    if (one.kernel != kernel || one.gpu != gpu || one.threads != threads)
      one = {nullptr, gpu, threads, find()};
    one.kernel = kernel;  // after find(), which may throw
    return one.answer;
  }

 private:
  struct One {
    const void* kernel = nullptr;
    int gpu = 0, threads = 0;
    std::int64_t answer = 0;
  };
  std::array<One, 32> kept_{};
};

}  // namespace

const GpuFacts& gpu_facts(int gpu) {
  static std::array<std::atomic<const GpuFacts*>, kMaxGpus> known{};  // never freed: they may be read at exit
  if (gpu >= kMaxGpus) require_gpu(gpu);
  auto& slot = known.at(static_cast<std::size_t>(gpu));
  if (const auto* const facts = slot.load(std::memory_order_acquire)) return *facts;
  auto made = std::make_unique<const GpuFacts>(ask(gpu));
  const GpuFacts* before = nullptr;
  if (!slot.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) return *before;
  return *made.release();
}

std::int64_t resident_blocks(const void* kernel, int threads, int gpu) {
  static thread_local Lately lately;
  const auto& facts = gpu_facts(gpu);
  return lately(kernel, gpu, threads, [&] {
    int each = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0));
    return std::min<std::int64_t>(each, facts.threads / threads) * facts.multiprocessors;
  });
}

bool waits_by_itself(const void* kernel, int gpu) {
  static thread_local Lately lately;
  if (gpu_facts(gpu).major < 9) return false;
  return lately(kernel, gpu, 0, [&]() -> std::int64_t {
           cudaFuncAttributes code{};
           check(cudaFuncGetAttributes(&code, kernel));
           // ptxVersion is the architecture that the code was compiled for, also where the driver compiled it again.
           return code.ptxVersion >= 90;
         }) != 0;
}

}  // namespace penstock::cuda
