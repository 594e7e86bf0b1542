// Memory and events that processes of one machine share (CUDA's inter-process communication), and memory that the GPUs of
// one process share.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstring>

#include "penstock/core/check_cuda.hpp"
#include "penstock/core/device_impl.hpp"

namespace penstock::cuda {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(GpuHandle) &&
              sizeof(cudaIpcEventHandle_t) == sizeof(GpuHandle));

using PointerAttribute = CUresult(void*, CUpointer_attribute, CUdeviceptr);
/// The driver's function of that name. The runtime has loaded the driver; the extension does not link it.
PointerAttribute* pointer_attribute() {
  static auto* const found = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver ? reinterpret_cast<PointerAttribute*>(dlsym(driver, "cuPointerGetAttribute")) : nullptr;
  }();
  return found;
}

}  // namespace

bool peers_reach(const void* p) {
  auto* const ask = pointer_attribute();
  // Legacy IPC works for memory of cudaMalloc alone, and peer access that is enabled later holds for the same memory alone.
  int yes = 0;
  return ask &&
         ask(&yes, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, reinterpret_cast<CUdeviceptr>(p)) ==
             CUDA_SUCCESS &&
         yes != 0;
}

bool adds_atomically(Where who, const void* p) {
  cudaPointerAttributes at{};
  check(cudaPointerGetAttributes(&at, p));
  // Memory of a GPU that this process does not see counts as memory of the GPU that opened it.
  if (at.type != cudaMemoryTypeDevice || at.device == who.gpu) return at.type == cudaMemoryTypeDevice;
  int yes = 0;
  check(cudaDeviceGetP2PAttribute(&yes, cudaDevP2PAttrNativeAtomicSupported, who.gpu, at.device));
  return yes != 0;
}

GpuHandle share_memory(const void* allocation) {
  const UseDevice use(Where{place_of(allocation).ordinal});
  GpuHandle out;
  cudaIpcMemHandle_t handle;
  check(cudaIpcGetMemHandle(&handle, const_cast<void*>(allocation)));
  std::memcpy(&out, &handle, sizeof out);
  return out;
}

std::shared_ptr<void> open_memory(const GpuHandle& from, Where who) {
  const UseDevice use(who);
  cudaIpcMemHandle_t handle;
  std::memcpy(&handle, &from, sizeof handle);
  void* p = nullptr;
  check(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess));
  return {p, [who](void* q) {
            int before = 0;
            cudaGetDevice(&before);
            cudaSetDevice(who.gpu);
            if (cudaIpcCloseMemHandle(q) != cudaSuccess) cudaGetLastError();
            cudaSetDevice(before);
          }};
}

Event make_shared_event(Where where) {
  const UseDevice use(where);
  cudaEvent_t e;
  check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventInterprocess));
  return {e, where};
}

GpuHandle share_event(Event event) {
  const UseDevice use(event.where);  // the driver looks the event up in the current GPU's context
  GpuHandle out;
  cudaIpcEventHandle_t handle;
  check(cudaIpcGetEventHandle(&handle, static_cast<cudaEvent_t>(event.handle)));
  std::memcpy(&out, &handle, sizeof out);
  return out;
}

Event open_event(const GpuHandle& from, Where who) {
  const UseDevice use(who);
  cudaIpcEventHandle_t handle;
  std::memcpy(&handle, &from, sizeof handle);
  cudaEvent_t e;
  check(cudaIpcOpenEventHandle(&e, handle));
  return {e, who};
}

}  // namespace penstock::cuda
