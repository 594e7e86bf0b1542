#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/core/place.hpp"

// The whole seam between the library and a GPU runtime. device.cpp sends each call to device_host.cpp (the CPU,
// synchronous: it runs every schedule where there is no GPU) or to device_cuda.cpp, by `Where`.
namespace penstock {

struct Stream {
  void* handle = nullptr;
  Where where;
};
struct Event {
  void* handle = nullptr;
  Where where;
};

/// The number of GPUs that can be used: those before the first that has no kernels (core/gpu_code.hpp).
int device_count();

/// Throws Error{not_compiled}, "`what`: this build has no CUDA" with the reason and the remedy: for all that needs a GPU in a
/// build without CUDA.
[[noreturn]] void no_cuda(std::string_view what);

/// What a GPU and its driver say of themselves. Throws Error{not_accessible} where it does not exist.
struct GpuInfo {
  std::string name, bus, driver, runtime;  // "NVIDIA H200", "0000:19:00.0", "13.0", "13.0"
  std::int64_t memory_bytes = 0, free_bytes = 0;
  std::int64_t cache_bytes = 0;  // second level
  int multiprocessors = 0;
};
GpuInfo gpu_info(int gpu);

/// Memory of a GPU, much cheaper to ask for than gpu_info. `free` counts what can be allocated, and also what this library
/// keeps there for later, which it gives up on demand. Where another library allocates (gpu_allocator.hpp), what that one
/// keeps counts, too.
struct DeviceMemory {
  std::int64_t free = 0, total = 0;
};
DeviceMemory device_memory(Where gpu);

/// Name and bus of a GPU, such as "NVIDIA H200 0000:19:00.0". It takes milliseconds and no memory of the GPU, because it
/// starts no context there, as gpu_info does.
std::string gpu_identity(int gpu);

/// Lets copies and kernels of one GPU reach the memory of another directly; false where the machine cannot. Cheap
/// after the first call for a pair.
bool enable_peer(Where who, Where whose);

/// Whether GPUs that reach the memory of p's GPU (enable_peer) also reach p. They do not reach all memory of a pool, and of
/// other libraries.
bool peers_reach(const void* p);

/// Whether atomic operations by kernels of `who` on memory at p, its own or another GPU's, are atomic among all GPUs.
bool adds_atomically(Where who, const void* p);

// Processes of one machine can share device memory that allocate_shared gave, and events. A handle is plain bytes; it is
// opened in another process than the one that made it.
struct GpuHandle {
  std::array<std::byte, 64> bytes;
};
/// Memory is shared in pieces of 2 MiB. Round a shared allocation up to whole pieces, so that nothing else lies in its last
/// one.
inline constexpr std::int64_t kSharedPiece = 2 << 20;
GpuHandle share_memory(const void* allocation);
/// The other process's memory, for kernels and copies of `who`. Its owner must not free it before the last copy goes.
std::shared_ptr<void> open_memory(const GpuHandle&, Where who);
Event make_shared_event(Where);
GpuHandle share_event(Event);
Event open_event(const GpuHandle&, Where who);

/// Where an address lives. Pinned, managed and device memory is recognised whoever allocated it; all other memory is host
/// memory.
Place place_of(const void* p);

Stream make_stream(Where, bool urgent = false);  // urgent: its kernels go first where both wait
void destroy(Stream) noexcept;
Event make_event(Where, bool timed = false);
void destroy(Event) noexcept;
void record(Event, Stream);
void wait(Stream, Event);
void synchronize(Stream);
void synchronize(Event);  // the calling thread waits for the work recorded
bool is_done(Event);      // whether that work has ended, without waiting
/// Waits for the stream and forgets its errors: for use before memory is freed that the stream may still use.
void drain(Stream) noexcept;
double seconds(Event from, Event to);  // both timed and done, on one GPU
void copy_async(void* dst, const void* src, std::int64_t bytes, Stream);
void fill_async(void* first, int byte, std::int64_t bytes, Stream);  // every byte of a range

/// What is queued on `later` from now on waits for what is queued on `first` now; two streams of one GPU.
void order(Stream first, Stream later);
/// Whether the stream is being captured into a CUDA graph: then nothing may wait for it.
bool is_capturing(Stream);
/// Waits for everything that is queued for a GPU, whoever queued it, and forgets errors: for use before memory is freed that
/// kernels on streams of other libraries may still read.
void drain(Where) noexcept;

/// How a GPU will use managed memory: `read_mostly` keeps copies of the pages on the GPU while nobody writes them,
/// `accessed_by` reads the pages over the link, where they are.
enum class ManagedUse { read_mostly, accessed_by };
void advise(const void* first, std::int64_t bytes, ManagedUse use, Where gpu);

/// Device memory for one kernel call: taken and given back in the order of the stream, without stopping it. The
/// stream must outlive the pointer.
std::shared_ptr<void> allocate_scratch(std::int64_t bytes, Stream);

/// Makes a GPU the calling thread's current one, which launches need, and restores the caller's own choice after.
class UseDevice {
 public:
  explicit UseDevice(Where);
  ~UseDevice();
  UseDevice(const UseDevice&) = delete;
  UseDevice& operator=(const UseDevice&) = delete;

 private:
  int before_ = -1;  // -1: nothing to restore
};

/// Streams and events that end with their scope.
class OwnedStream {
 public:
  explicit OwnedStream(Where where, bool urgent = false) : stream_(make_stream(where, urgent)) {}
  ~OwnedStream() { destroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  operator Stream() const { return stream_; }

 private:
  Stream stream_;
};
class OwnedEvent {
 public:
  explicit OwnedEvent(Where where, bool timed = false) : event_(make_event(where, timed)) {}
  explicit OwnedEvent(Event event) : event_(event) {}  // owns `event` from now on
  ~OwnedEvent() { destroy(event_); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  operator Event() const { return event_; }

 private:
  Event event_;
};

}  // namespace penstock
