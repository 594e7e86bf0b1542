#pragma once
#include <memory>

#include "penstock/core/device.hpp"
#include "penstock/core/gpu_code.hpp"

// The two implementations behind device.hpp. Only device*.cpp includes this.
namespace penstock::host {
void copy(void* dst, const void* src, std::int64_t bytes);
std::shared_ptr<void> allocate_bytes(std::int64_t bytes);
}  // namespace penstock::host

namespace penstock {
// Remedies where a GPU has no memory left: for arrays, and for scratch memory of kernels.
inline constexpr std::string_view kStreamInstead =
    "keep the matrix in host memory and use Streamed, or smaller blocks";
inline constexpr std::string_view kSmallerBlocks = "stream the matrix in smaller blocks";
}  // namespace penstock

namespace penstock::cuda {
inline constexpr int kMaxGpus = 64;
/// Throws Error{not_accessible} unless this process can use the GPU.
void require_gpu(int gpu);
int visible_gpus();                // GPUs that the runtime sees, with or without kernels
const GpuSeen& gpu_seen(int gpu);  // one of those GPUs
int device_count();                // those of them before the first that has no kernels
/// Throws Error{not_compiled} unless the current GPU, which is `gpu`, can load this build's kernels. The answer is kept.
void require_kernels(int gpu);
GpuInfo gpu_info(int gpu);
DeviceMemory device_memory(int gpu);
/// Gives back what this library keeps of a GPU's memory for later. Returns whether there may be more free memory now.
bool give_up_kept(int gpu);
std::string gpu_identity(int gpu);
bool enable_peer(int who, int whose);
Place place_of(const void* p);
bool peers_reach(const void* p);
bool adds_atomically(Where who, const void* p);
GpuHandle share_memory(const void* allocation);
std::shared_ptr<void> open_memory(const GpuHandle&, Where who);
Event make_shared_event(Where);
GpuHandle share_event(Event);
Event open_event(const GpuHandle&, Where who);
Stream make_stream(Where, bool urgent);
void destroy(Stream) noexcept;
Event make_event(Where, bool timed);
void destroy(Event) noexcept;
void record(Event, Stream);
void wait(Stream, Event);
void synchronize(Stream);
void synchronize(Event);
bool is_done(Event);
void drain(Stream) noexcept;
void order(Stream first, Stream later);
bool is_capturing(Stream);
void drain(Where) noexcept;
double seconds(Event from, Event to);
void copy_async(void* dst, const void* src, std::int64_t bytes, Stream);
void fill_async(void* first, int byte, std::int64_t bytes, Stream);
void advise(const void* first, std::int64_t bytes, ManagedUse use, Where gpu);
std::shared_ptr<void> allocate_bytes(std::int64_t bytes, Place place);
std::shared_ptr<void> allocate_pinned(std::int64_t bytes);
std::shared_ptr<void> lock_pages(const void* first, std::int64_t bytes);
std::shared_ptr<void> allocate_scratch(std::int64_t bytes, Stream);
// Makes the GPU current; returns the one that was current before, or -1 if it is the same one.
int enter(Where);
void leave(int before) noexcept;
}  // namespace penstock::cuda
