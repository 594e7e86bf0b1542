#include <cuda_runtime_api.h>

#include <string>

#include "penstock/core/device_impl.hpp"
#include "penstock/core/error.hpp"

namespace penstock::cuda {
namespace {

void check(cudaError_t e, std::source_location at = std::source_location::current()) {
  if (e == cudaSuccess) return;
  cudaGetLastError();  // leave no stale error behind for the next launch
  throw Error(e == cudaErrorMemoryAllocation ? Errc::out_of_memory : Errc::cuda,
              std::string(cudaGetErrorName(e)) + ": " + cudaGetErrorString(e), at);
}
cudaStream_t native(Stream s) { return static_cast<cudaStream_t>(s.handle); }
cudaEvent_t native(Event e) { return static_cast<cudaEvent_t>(e.handle); }

}  // namespace

int device_count() {
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess) return n;
  cudaGetLastError();
  return 0;
}
Stream make_stream(Where where) {
  cudaStream_t s;
  check(cudaSetDevice(where.gpu));
  check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  return {s, where};
}
void destroy(Stream s) noexcept { cudaStreamDestroy(native(s)); }
Event make_event(Where where) {
  cudaEvent_t e;
  check(cudaSetDevice(where.gpu));
  check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return {e, where};
}
void destroy(Event e) noexcept { cudaEventDestroy(native(e)); }
void record(Event e, Stream s) { check(cudaEventRecord(native(e), native(s))); }
void wait(Stream s, Event e) { check(cudaStreamWaitEvent(native(s), native(e))); }
void synchronize(Stream s) { check(cudaStreamSynchronize(native(s))); }
void copy_async(void* dst, const void* src, std::int64_t n, Stream s) {
  check(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(n), cudaMemcpyDefault, native(s)));
}
std::shared_ptr<void> allocate_bytes(std::int64_t n, Place place) {
  void* p = nullptr;
  const auto bytes = static_cast<std::size_t>(n > 0 ? n : 1);
  if (place.memory == Memory::device) {
    check(cudaSetDevice(place.ordinal));
    check(cudaMalloc(&p, bytes));
    return {p, [](void* q) { cudaFree(q); }};
  }
  if (place.memory == Memory::pinned) {
    check(cudaHostAlloc(&p, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
    return {p, [](void* q) { cudaFreeHost(q); }};
  }
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  if (bytes > free)
    throw Error(Errc::out_of_memory, "managed memory of " + std::to_string(bytes) + " bytes exceeds the " +
                                         std::to_string(free) + " free on the GPU: use pinned memory");
  check(cudaMallocManaged(&p, bytes));
  return {p, [](void* q) { cudaFree(q); }};
}

}  // namespace penstock::cuda
