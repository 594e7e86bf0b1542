// Whether the GPUs of this machine run the kernels that were built. Before anything starts on a GPU, its compute capability
// is compared; when a GPU is first used, the driver is asked to load a kernel.
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "penstock/core/any_kernel_gpu.hpp"
#include "penstock/core/check_cuda.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/device_impl.hpp"
#include "penstock/core/error.hpp"

namespace penstock::cuda {
namespace {

std::string with_number(int gpu, const std::string& name) {
  return "GPU " + std::to_string(gpu) + " (" + name + ")";
}

/// A driver compiles PTX only if it is as new as the compiler that wrote it. Returns the sentence that says that it is too
/// old, or nothing.
std::string driver_too_old_for_ptx() {
  int driver = 0, built = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&built));
  if (driver >= built) return "";
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return "its driver is of CUDA " + version(driver) + " and compiles no PTX of CUDA " + version(built) +
         " (a newer driver does)";
}

GpuSeen look_at(int gpu) {
  cudaDeviceProp properties{};  // asking for them starts no context
  check(cudaGetDeviceProperties(&properties, gpu));
  GpuSeen seen{.name = properties.name, .capability = {properties.major, properties.minor}, .why = ""};
  seen.code = gpu_code(kCudaArchitectures, seen.capability);
  std::string old;
  if (seen.code == GpuCode::ptx) old = driver_too_old_for_ptx();
  if (!old.empty()) seen.code = GpuCode::none;
  if (seen.code == GpuCode::none)
    seen.why = no_kernels_for(with_number(gpu, seen.name), seen.capability, kCudaArchitectures, old);
  return seen;
}

}  // namespace

int visible_gpus() {
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess) return n < kMaxGpus ? n : kMaxGpus;
  cudaGetLastError();
  return 0;
}

const GpuSeen& gpu_seen(int gpu) {
  static std::mutex lock;
  static std::array<std::optional<GpuSeen>, kMaxGpus> known;
  const std::lock_guard guard(lock);
  auto& seen = known.at(static_cast<std::size_t>(gpu));
  if (!seen) seen = look_at(gpu);
  return *seen;
}

int device_count() {
  const int n = visible_gpus();
  int usable = 0;
  while (usable < n && gpu_seen(usable).code != GpuCode::none) ++usable;
  return usable;
}

void require_kernels(int gpu) {
  static std::array<std::atomic<bool>, kMaxGpus> known{};
  auto& good = known.at(static_cast<std::size_t>(gpu));
  if (good.load(std::memory_order_relaxed)) return;
  const auto& seen = gpu_seen(gpu);
  if (!seen.why.empty()) throw Error(Errc::not_compiled, seen.why);
  cudaFuncAttributes attributes{};
  const auto state = cudaFuncGetAttributes(&attributes, any_kernel_address());
  switch (state) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidPtx:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
      cudaGetLastError();
      throw Error(Errc::not_compiled,
                  no_kernels_for(with_number(gpu, seen.name), seen.capability, kCudaArchitectures,
                                 std::string("the driver says: ") + cudaGetErrorString(state)));
    default: check(state);
  }
  good.store(true, std::memory_order_relaxed);
}

}  // namespace penstock::cuda
