// The device seam's switch: every function of device.hpp looks at where its argument lives (a `Where`, a `Place`, a stream or
// an event) and calls the same function of device_host.cpp or of device_cuda.cpp. In a build without CUDA, what needs a GPU
// throws Error{not_compiled}. The choice of who allocates memory of GPUs is here, too.
#include "penstock/core/device.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "penstock/core/array.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/device_calls.hpp"
#include "penstock/core/device_impl.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_allocator.hpp"
#include "penstock/core/gpu_code.hpp"
#include "penstock/core/reuse.hpp"

namespace penstock {

void no_cuda(std::string_view what) { throw Error(Errc::not_compiled, no_cuda_for(what)); }

DeviceCalls& device_calls() noexcept {
  thread_local constinit DeviceCalls calls;
  return calls;
}

int device_count() {
  if constexpr (have_cuda) return cuda::device_count();
  else return 0;
}
std::vector<GpuSeen> gpus_seen() {
  std::vector<GpuSeen> all;
  if constexpr (have_cuda)
    for (int gpu = 0; gpu < cuda::visible_gpus(); ++gpu) all.push_back(cuda::gpu_seen(gpu));
  return all;
}
GpuInfo gpu_info([[maybe_unused]] int gpu) {
  if constexpr (have_cuda) {
    auto info = cuda::gpu_info(gpu);
    if (const auto* const other = gpu_allocator()) info.free_bytes = other->room(Where{gpu}, info.free_bytes);
    return info;
  } else {
    no_cuda("GPU " + std::to_string(gpu));
  }
}
DeviceMemory device_memory([[maybe_unused]] Where gpu) {
  if constexpr (have_cuda) {
    auto memory = cuda::device_memory(gpu.gpu);
    if (const auto* const other = gpu_allocator()) memory.free = other->room(gpu, memory.free);
    return memory;
  } else {
    no_cuda("GPU " + std::to_string(gpu.gpu));
  }
}
std::string gpu_identity([[maybe_unused]] int gpu) {
  if constexpr (have_cuda) return cuda::gpu_identity(gpu);
  else no_cuda("GPU " + std::to_string(gpu));
}
bool enable_peer([[maybe_unused]] Where who, [[maybe_unused]] Where whose) {
  if (!who.is_gpu() || !whose.is_gpu()) return false;
  if constexpr (have_cuda) return cuda::enable_peer(who.gpu, whose.gpu);
  else return false;
}
Place place_of([[maybe_unused]] const void* p) {
  if constexpr (have_cuda) return cuda::place_of(p);
  else return {};
}
bool peers_reach([[maybe_unused]] const void* p) {
  if constexpr (have_cuda) return cuda::peers_reach(p);
  else return true;
}
bool adds_atomically([[maybe_unused]] Where who, [[maybe_unused]] const void* p) {
  if constexpr (have_cuda)
    if (who.is_gpu()) return cuda::adds_atomically(who, p);
  return true;
}
GpuHandle share_memory([[maybe_unused]] const void* allocation) {
  if constexpr (have_cuda) return cuda::share_memory(allocation);
  else no_cuda("shared device memory");
}
std::shared_ptr<void> open_memory([[maybe_unused]] const GpuHandle& handle, [[maybe_unused]] Where who) {
  if constexpr (have_cuda) return cuda::open_memory(handle, who);
  else no_cuda("shared device memory");
}
Event make_shared_event([[maybe_unused]] Where where) {
  if constexpr (have_cuda) return cuda::make_shared_event(where);
  else no_cuda("a shared event");
}
GpuHandle share_event([[maybe_unused]] Event event) {
  if constexpr (have_cuda) return cuda::share_event(event);
  else no_cuda("a shared event");
}
Event open_event([[maybe_unused]] const GpuHandle& handle, [[maybe_unused]] Where who) {
  if constexpr (have_cuda) return cuda::open_event(handle, who);
  else no_cuda("a shared event");
}
std::shared_ptr<void> lock_pages([[maybe_unused]] const void* first, [[maybe_unused]] std::int64_t bytes) {
  if constexpr (have_cuda) return cuda::lock_pages(first, bytes);
  else no_cuda("pinned memory");
}
Stream make_stream(Where where, [[maybe_unused]] bool urgent) {
  if (!where.is_gpu()) return {nullptr, where};
  if constexpr (have_cuda) return cuda::make_stream(where, urgent);
  else no_cuda("a stream on GPU " + std::to_string(where.gpu));
}
void destroy(Stream stream) noexcept {
  if constexpr (have_cuda)
    if (stream.where.is_gpu()) {
      // Allocators know a stream by its handle, which the next one may get: its blocks must be idle by then.
      if (had_gpu_allocator()) cuda::drain(stream);
      cuda::destroy(stream);
    }
}
Event make_event(Where where, [[maybe_unused]] bool timed) {
  if (!where.is_gpu()) return {nullptr, where};
  if constexpr (have_cuda) return cuda::make_event(where, timed);
  else no_cuda("an event on GPU " + std::to_string(where.gpu));
}
void destroy(Event event) noexcept {
  if constexpr (have_cuda)
    if (event.where.is_gpu()) cuda::destroy(event);
}
void record(Event event, Stream stream) {
  if constexpr (have_cuda)
    if (stream.where.is_gpu()) cuda::record(event, stream);
}
void wait(Stream stream, Event event) {
  if constexpr (have_cuda)
    if (event.where.is_gpu()) cuda::wait(stream, event);
}
void synchronize(Stream stream) {
  if constexpr (have_cuda)
    if (stream.where.is_gpu()) ++device_calls().waits, cuda::synchronize(stream);
}
void synchronize(Event event) {
  if constexpr (have_cuda)
    if (event.where.is_gpu()) ++device_calls().waits, cuda::synchronize(event);
}
bool is_done([[maybe_unused]] Event event) {
  if constexpr (have_cuda)
    if (event.where.is_gpu()) return cuda::is_done(event);
  return true;
}
void drain(Stream stream) noexcept {
  if constexpr (have_cuda)
    if (stream.where.is_gpu()) cuda::drain(stream);
}
void order(Stream first, Stream later) {
  require(first.where == later.where, "order: two streams of one device");
  if constexpr (have_cuda)
    if (first.where.is_gpu()) cuda::order(first, later);
}
bool is_capturing([[maybe_unused]] Stream stream) {
  if constexpr (have_cuda)
    if (stream.where.is_gpu()) return cuda::is_capturing(stream);
  return false;
}
void drain(Where where) noexcept {
  if constexpr (have_cuda)
    if (where.is_gpu()) cuda::drain(where);
}
double seconds(Event from, Event to) {
  require(from.where.is_gpu() && from.where == to.where, "seconds: two events of one GPU");
  if constexpr (have_cuda) return cuda::seconds(from, to);
  else no_cuda("an event on GPU " + std::to_string(to.where.gpu));
}
std::shared_ptr<void> allocate_scratch(std::int64_t bytes, Stream stream) {
  if (!stream.where.is_gpu()) return host::allocate_bytes(bytes);
  // What is captured into a graph is used again whenever the graph runs, of which an allocator knows nothing: CUDA's own
  // memory belongs to the graph.
  if (const auto* const other = gpu_allocator(); other && !is_capturing(stream))
    return allocate_by(*other, bytes, stream.where, stream, kSmallerBlocks);
  if constexpr (have_cuda) return cuda::allocate_scratch(bytes, stream);
  else no_cuda("scratch memory on GPU " + std::to_string(stream.where.gpu));
}
UseDevice::UseDevice(Where where) {
  if (!where.is_gpu()) return;
  if constexpr (have_cuda) before_ = cuda::enter(where);
  else no_cuda("GPU " + std::to_string(where.gpu));
}
UseDevice::~UseDevice() {
  if constexpr (have_cuda) cuda::leave(before_);
}
void copy_async(void* dst, const void* src, std::int64_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (!stream.where.is_gpu()) return host::copy(dst, src, bytes);
  if constexpr (have_cuda) cuda::copy_async(dst, src, bytes, stream);
  else no_cuda("a copy on GPU " + std::to_string(stream.where.gpu));
}
void fill_async(void* first, int byte, std::int64_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (!stream.where.is_gpu()) std::memset(first, byte, static_cast<std::size_t>(bytes));
  else if constexpr (have_cuda) cuda::fill_async(first, byte, bytes, stream);
  else no_cuda("a fill on GPU " + std::to_string(stream.where.gpu));
}
void advise([[maybe_unused]] const void* first, [[maybe_unused]] std::int64_t bytes,
            [[maybe_unused]] ManagedUse use, [[maybe_unused]] Where gpu) {
  if constexpr (have_cuda) cuda::advise(first, bytes, use, gpu);
  else no_cuda("managed memory");
}
std::shared_ptr<void> allocate_bytes(std::int64_t bytes, Place place) {
  require(bytes >= 0, "allocate: negative size " + std::to_string(bytes));
  if (const auto* const other = place.memory == Memory::device ? gpu_allocator() : nullptr)
    return allocate_by(*other, bytes, Where{place.ordinal}, std::nullopt, kStreamInstead);
  return allocate_shared(bytes, place);
}
std::shared_ptr<void> allocate_shared(std::int64_t bytes, Place place) {
  require(bytes >= 0, "allocate: negative size " + std::to_string(bytes));
  if (place.memory == Memory::host) return host::allocate_bytes(bytes);
  require(place.memory != Memory::mapped && place.memory != Memory::peer,
          "allocate: " + std::string(name(place.memory)) + " memory belongs to a file or to another rank");
  if constexpr (have_cuda) return cuda::allocate_bytes(bytes, place);
  else no_cuda(std::string(name(place.memory)) + " memory");
}

// The allocator of another library (gpu_allocator.hpp)
namespace {

std::atomic<const GpuAllocator*> present = nullptr;
std::atomic<bool> ever = false;

/// Gives up what this library keeps of a device's memory. Returns whether there may be more free memory now.
bool give_up([[maybe_unused]] Where where) {
  if constexpr (have_cuda)
    if (where.is_gpu() && where.gpu < device_count()) return cuda::give_up_kept(where.gpu);
  return free_kept(device_place(where));
}

std::string numbers(Where where) {
  if (!where.is_gpu() || where.gpu >= device_count()) return "";
  try {
    const auto memory = device_memory(where);
    return " (" + std::to_string(memory.free) + " of " + std::to_string(memory.total) +
           " can be had, perhaps not in one piece)";
  } catch (const Error&) {
    return "";  // the numbers are not what failed
  }
}

}  // namespace

const GpuAllocator* gpu_allocator() noexcept { return present.load(std::memory_order_acquire); }
bool had_gpu_allocator() noexcept { return ever.load(std::memory_order_relaxed); }

void set_gpu_allocator(const GpuAllocator* allocator) {
  if (allocator) ever.store(true, std::memory_order_relaxed);
  if (present.exchange(allocator, std::memory_order_acq_rel) == allocator || !allocator) return;
  for (int gpu = 0; gpu < device_count(); ++gpu) give_up(Where{gpu});
}

std::shared_ptr<void> allocate_by(const GpuAllocator& from, std::int64_t bytes, Where where,
                                  const std::optional<Stream>& stream, std::string_view remedy, Idle idle) {
  bytes = bytes > 0 ? bytes : 1;
  std::shared_ptr<void> block;
  std::string why;
  for (bool again = false; !block; again = true) {
    try {
      block = from.allocate(bytes, where, stream);
    } catch (const Error& e) {
      if (e.code() != Errc::out_of_memory) throw;
      why = e.what();
    }
    if (!block && (again || !give_up(where)))
      throw Error(Errc::out_of_memory,
                  "cannot allocate " + std::to_string(bytes) + " bytes of memory on GPU " +
                      std::to_string(where.gpu) + numbers(where) + " by the allocator of " + from.name +
                      ": " + std::string(remedy) + ", or free arrays of " + from.name + ". It said: " + why);
  }
  if (stream || idle == Idle::already) return block;
  auto* const p = block.get();
  return {p, [block = std::move(block), where](void*) mutable {
            drain(where);
            block.reset();
          }};
}

}  // namespace penstock
