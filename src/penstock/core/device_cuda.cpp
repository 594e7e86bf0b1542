// Streams, events, copies and memory of CUDA GPUs. Creating something needs its GPU to be current (UseDevice); using
// it does not: records, waits, copies and frees find the GPU by their stream, event or address.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "penstock/core/check_cuda.hpp"
#include "penstock/core/device_impl.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_allocator.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/core/reuse.hpp"

namespace penstock::cuda {
namespace {

// The least scratch memory that a GPU keeps for the next call; it keeps a sixteenth of its memory where that is more. What
// a burst took above that goes back to the driver at the next synchronisation, and the next burst has it mapped again. All
// of it goes back where an allocation fails.
constexpr std::uint64_t kScratchKept = 256 << 20;
constexpr std::uint64_t kScratchShare = 16;

cudaStream_t native(Stream s) { return static_cast<cudaStream_t>(s.handle); }
cudaEvent_t native(Event e) { return static_cast<cudaEvent_t>(e.handle); }

std::string describe(Place place) {
  if (place.memory != Memory::device) return std::string(name(place.memory)) + " memory";
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);  // takes long enough to be asked only for a message
  return "memory on GPU " + std::to_string(place.ordinal) + " (" + std::to_string(free) + " of " +
         std::to_string(total) + " free)";
}

/// Throws Error{out_of_memory}, with the bytes and the GPU that they were asked of; other errors as check() does.
void check_allocation(cudaError_t e, std::size_t bytes, Place place, std::string_view remedy) {
  if (e != cudaErrorMemoryAllocation) return check(e);
  cudaGetLastError();
  throw Error(Errc::out_of_memory, "cannot allocate " + std::to_string(bytes) + " bytes of " +
                                       describe(place) + ": " + std::string(remedy));
}

/// This library's own pools, one a GPU, null where none has been made. Never destroyed: they end with the process's context.
struct Pools {
  std::mutex lock;
  std::array<cudaMemPool_t, kMaxGpus> of_gpu{};
};
Pools& pools() {
  static auto* const all = new Pools;
  return *all;
}

/// The pool of `gpu`, which must be current. The process's default pool may be tuned by another library.
cudaMemPool_t scratch_pool(int gpu) {
  require_gpu(gpu);
  const std::lock_guard guard(pools().lock);
  auto& pool = pools().of_gpu.at(static_cast<std::size_t>(gpu));
  if (!pool) {
    cudaMemPoolProps props{};
    // The only kind that CUDA has: device memory that does not move.
    props.allocType = cudaMemAllocationTypePinned;
    props.location = {cudaMemLocationTypeDevice, gpu};
    check(cudaMemPoolCreate(&pool, &props));
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    std::uint64_t kept = std::max<std::uint64_t>(kScratchKept, total / kScratchShare);
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  }
  return pool;
}

/// Calls attempt(). Where that fails for lack of memory, and memory was kept for later, gives it up and calls again.
template <class F>
cudaError_t with_kept(int gpu, F&& attempt) {
  const auto state = attempt();
  if (state != cudaErrorMemoryAllocation) return state;
  cudaGetLastError();
  if (const auto* const other = gpu_allocator()) other->give_up(Where{gpu});
  return give_up_kept(gpu) ? attempt() : state;
}

}  // namespace

bool give_up_kept(int gpu) {
  free_kept({Memory::device, static_cast<std::int16_t>(gpu)});
  const std::lock_guard guard(pools().lock);
  auto* const pool = pools().of_gpu.at(static_cast<std::size_t>(gpu));
  if (pool && cudaMemPoolTrimTo(pool, 0) != cudaSuccess) return cudaGetLastError(), false;
  return true;
}

void check(cudaError_t e, std::source_location at) {
  if (e == cudaSuccess) return;
  cudaGetLastError();  // leave no stale error behind for the next caller
  const auto what = std::string(cudaGetErrorName(e)) + ": " + cudaGetErrorString(e);
  if (e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver)
    throw Error(Errc::not_accessible,
                "no GPU can be used here (" + what + "): compute on the CPU, or install a driver", at);
  throw Error(e == cudaErrorMemoryAllocation ? Errc::out_of_memory : Errc::cuda, what, at);
}

void require_gpu(int gpu) {
  if (const int n = visible_gpus(); gpu >= n)
    throw Error(Errc::not_accessible, "GPU " + std::to_string(gpu) +
                                          " does not exist: this process can use " + std::to_string(n) +
                                          (n == 1 ? " GPU" : " GPUs") + ", numbered from 0");
}

GpuInfo gpu_info(int gpu) {
  const UseDevice use(Where{gpu});
  cudaDeviceProp prop{};
  check(cudaGetDeviceProperties(&prop, gpu));
  const auto memory = device_memory(gpu);
  char bus[32] = {};
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, gpu));
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return {.name = prop.name,
          .bus = bus,
          .driver = version(driver),
          .runtime = version(runtime),
          .memory_bytes = memory.total,
          .free_bytes = memory.free,
          .cache_bytes = gpu_facts(gpu).cache,
          .multiprocessors = gpu_facts(gpu).multiprocessors};
}

DeviceMemory device_memory(int gpu) {
  const UseDevice use(Where{gpu});
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  std::uint64_t reserved = 0, used = 0;
  if (gpu_facts(gpu).pools) {
    check(cudaMemPoolGetAttribute(scratch_pool(gpu), cudaMemPoolAttrReservedMemCurrent, &reserved));
    check(cudaMemPoolGetAttribute(scratch_pool(gpu), cudaMemPoolAttrUsedMemCurrent, &used));
  }
  const auto kept = kept_bytes({Memory::device, static_cast<std::int16_t>(gpu)});
  return {static_cast<std::int64_t>(free + (reserved > used ? reserved - used : 0)) + kept,
          static_cast<std::int64_t>(total)};
}

std::string gpu_identity(int gpu) {  // no UseDevice: making a GPU current starts a context on it
  cudaDeviceProp prop{};
  check(cudaGetDeviceProperties(&prop, gpu));
  char bus[32] = {};
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, gpu));
  return std::string(prop.name) + " " + bus;
}

bool enable_peer(int who, int whose) {
  static std::mutex lock;
  static std::array<std::array<signed char, kMaxGpus>, kMaxGpus> known{};  // 0 unknown, 1 yes, -1 no
  if (who == whose) return true;
  require_gpu(who), require_gpu(whose);
  const std::lock_guard guard(lock);
  auto& answer = known.at(static_cast<std::size_t>(who)).at(static_cast<std::size_t>(whose));
  if (answer == 0) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, who, whose));
    if (can) {
      const UseDevice use(Where{who});
      const auto state = cudaDeviceEnablePeerAccess(whose, 0);
      // Another library has enabled it before: no error.
      if (state == cudaErrorPeerAccessAlreadyEnabled) cudaGetLastError();
      else check(state);
    }
    answer = can ? 1 : -1;
  }
  return answer > 0;
}

Place place_of(const void* p) {
  cudaPointerAttributes at{};
  if (cudaPointerGetAttributes(&at, p) != cudaSuccess) return cudaGetLastError(), Place{};
  const auto ordinal = static_cast<std::int16_t>(at.device);
  if (at.type == cudaMemoryTypeDevice) return {Memory::device, ordinal};
  if (at.type == cudaMemoryTypeManaged) return {Memory::managed, ordinal};
  return {at.type == cudaMemoryTypeHost ? Memory::pinned : Memory::host, 0};
}

int enter(Where where) {
  int before = 0;
  check(cudaGetDevice(&before));
  if (where.gpu == before) return require_kernels(before), -1;
  require_gpu(where.gpu);
  check(cudaSetDevice(where.gpu));
  try {
    require_kernels(where.gpu);
  } catch (...) {
    leave(before);
    throw;
  }
  return before;
}
void leave(int before) noexcept {
  if (before >= 0) cudaSetDevice(before);
}

Stream make_stream(Where where, bool urgent) {
  const UseDevice use(where);
  cudaStream_t s;
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  check(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, urgent ? greatest : least));
  return {s, where};
}
void destroy(Stream s) noexcept { cudaStreamDestroy(native(s)); }
Event make_event(Where where, bool timed) {
  const UseDevice use(where);
  cudaEvent_t e;
  check(cudaEventCreateWithFlags(&e, timed ? cudaEventDefault : cudaEventDisableTiming));
  return {e, where};
}
void destroy(Event e) noexcept { cudaEventDestroy(native(e)); }
void record(Event e, Stream s) { check(cudaEventRecord(native(e), native(s))); }
void wait(Stream s, Event e) { check(cudaStreamWaitEvent(native(s), native(e))); }
void synchronize(Stream s) { check(cudaStreamSynchronize(native(s))); }
void synchronize(Event e) { check(cudaEventSynchronize(native(e))); }
bool is_done(Event e) {
  const auto state = cudaEventQuery(native(e));
  if (state == cudaErrorNotReady) return cudaGetLastError(), false;
  return check(state), true;
}
void drain(Stream s) noexcept {
  if (cudaStreamSynchronize(native(s)) != cudaSuccess) cudaGetLastError();
}
void order(Stream first, Stream later) {
  if (first.handle == later.handle) return;
  const OwnedEvent reached(first.where);
  const UseDevice use(first.where);  // a default stream is that of the current GPU
  cuda::record(reached, first);
  cuda::wait(later, reached);
}
bool is_capturing(Stream s) {
  auto state = cudaStreamCaptureStatusNone;
  const UseDevice use(s.where);
  check(cudaStreamIsCapturing(native(s), &state));
  return state != cudaStreamCaptureStatusNone;
}
void drain(Where where) noexcept {
  try {
    const UseDevice use(where);
    if (cudaDeviceSynchronize() != cudaSuccess) cudaGetLastError();
  } catch (...) {  // a GPU that is gone holds nothing that is queued
  }
}
double seconds(Event from, Event to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, native(from), native(to)));
  return static_cast<double>(ms) * 1e-3;
}
void copy_async(void* dst, const void* src, std::int64_t n, Stream s) {
  const UseDevice use(s.where);  // memory of a pool is copied to pageable memory under its own GPU alone
  check(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(n), cudaMemcpyDefault, native(s)));
}
void fill_async(void* first, int byte, std::int64_t n, Stream s) {
  const UseDevice use(s.where);
  check(cudaMemsetAsync(first, byte, static_cast<std::size_t>(n), native(s)));
}
void advise(const void* first, std::int64_t n, ManagedUse use, Where gpu) {
  const auto bytes = static_cast<std::size_t>(n);
  const cudaMemLocation device{cudaMemLocationTypeDevice, gpu.gpu}, host{cudaMemLocationTypeHost, 0};
  if (n == 0 || !gpu_facts(gpu.gpu).shares_managed) return;
  if (use == ManagedUse::read_mostly)
    return check(cudaMemAdvise(first, bytes, cudaMemAdviseSetReadMostly, device));
  check(cudaMemAdvise(first, bytes, cudaMemAdviseSetPreferredLocation, host));
  check(cudaMemAdvise(first, bytes, cudaMemAdviseSetAccessedBy, device));
}

std::shared_ptr<void> allocate_bytes(std::int64_t n, Place place) {
  void* p = nullptr;
  const auto bytes = static_cast<std::size_t>(n > 0 ? n : 1);
  if (place.memory == Memory::pinned) return allocate_pinned(n);
  const Where gpu{place.ordinal};
  const UseDevice use(gpu);
  if (place.memory == Memory::device) {
    check_allocation(with_kept(gpu.gpu, [&] { return cudaMalloc(&p, bytes); }), bytes, place, kStreamInstead);
    return {p, [](void* q) { cudaFree(q); }};
  }
  if (!gpu_facts(gpu.gpu).shares_managed)
    throw Error(Errc::not_accessible, "GPU " + std::to_string(gpu.gpu) +
                                          " and the CPU cannot use managed memory at the same time (as under "
                                          "Windows and WSL): use pinned memory");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  if (bytes > free)
    throw Error(Errc::out_of_memory, "managed memory of " + std::to_string(bytes) + " bytes exceeds the " +
                                         std::to_string(free) + " free on the GPU: use pinned memory");
  check_allocation(cudaMallocManaged(&p, bytes), bytes, place, "use pinned memory");
  return {p, [](void* q) { cudaFree(q); }};
}

std::shared_ptr<void> allocate_scratch(std::int64_t n, Stream s) {
  const UseDevice use(s.where);
  void* p = nullptr;
  const auto bytes = static_cast<std::size_t>(n > 0 ? n : 1);
  const bool pools = gpu_facts(s.where.gpu).pools;
  const auto pool = pools ? scratch_pool(s.where.gpu) : nullptr;
  const auto attempt = [&] {
    return pools ? cudaMallocFromPoolAsync(&p, bytes, pool, native(s)) : cudaMalloc(&p, bytes);
  };
  check_allocation(with_kept(s.where.gpu, attempt), bytes,
                   {Memory::device, static_cast<std::int16_t>(s.where.gpu)}, kSmallerBlocks);
  return {p, [s, pools](void* q) {
            // The default stream has no GPU of its own: its handle means that of the current one.
            int before = 0;
            const bool elsewhere = cudaGetDevice(&before) == cudaSuccess && before != s.where.gpu;
            if (elsewhere) cudaSetDevice(s.where.gpu);
            if (pools) {
              cudaFreeAsync(q, native(s));
            } else {  // freeing waits for the stream, which is slower and keeps the order
              cudaStreamSynchronize(native(s));
              cudaFree(q);
            }
            if (elsewhere) cudaSetDevice(before);
          }};
}

}  // namespace penstock::cuda
