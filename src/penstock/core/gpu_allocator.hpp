#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/core/device.hpp"

// Where memory of GPUs comes from: CUDA itself, or the pool of another library of this process, so that two pools do not keep
// memory from each other. bind/gpu_allocator.cpp makes allocators of PyTorch and CuPy. A block knows which allocator gave it,
// so that the choice may change while blocks are in use.
namespace penstock {

struct GpuAllocator {
  std::string name;  // "torch"
  /// A block on a GPU that goes back with the last copy of the pointer. With a stream it serves work on this stream, and may be
  /// given to later work on it. Without one it serves any work, at once, and nothing uses it when it goes back. Throws
  /// Error{out_of_memory} with the library's words.
  std::function<std::shared_ptr<void>(std::int64_t bytes, Where, const std::optional<Stream>&)> allocate;
  /// How much of a GPU's memory allocate() can give where `free` bytes are free outside of the library.
  std::function<std::int64_t(Where, std::int64_t free)> room;
  /// Gives what the library keeps of a GPU's memory for later back to CUDA.
  std::function<void(Where)> give_up;
};

/// The allocator that is used at present; null: CUDA itself.
const GpuAllocator* gpu_allocator() noexcept;
/// Whether there has been one.
bool had_gpu_allocator() noexcept;

/// From now on blocks come from this allocator, which must live until the process ends; null: from CUDA itself. What is
/// kept for later of the memory of GPUs goes back to CUDA; what another thread frees just then, once an allocation fails.
void set_gpu_allocator(const GpuAllocator*);

/// When a block without a stream may go back to its library.
enum class Idle {
  after_drain,  // when the GPU has done all that is queued
  already,      // at once: its last user has waited
};

/// A block of this allocator. Where the library has no memory, what is kept for later is given up, and it is asked again.
/// Throws Error{out_of_memory} with the bytes, the GPU and `remedy`.
std::shared_ptr<void> allocate_by(const GpuAllocator&, std::int64_t bytes, Where,
                                  const std::optional<Stream>&, std::string_view remedy,
                                  Idle = Idle::after_drain);

}  // namespace penstock
