#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "penstock/core/place.hpp"

namespace penstock {

/// An index of a container of the standard library.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A typed span of bytes somewhere, sharing ownership with whoever allocated it: this library, NumPy, an mmap.
/// `T` may be const: arrays that belong to the user are read, never written.
template <class T>
struct Array {
  T* data = nullptr;
  std::int64_t size = 0;
  Place place;
  std::shared_ptr<void> owner;

  Array slice(std::int64_t first, std::int64_t count) const { return {data + first, count, place, owner}; }
  std::span<T> span() const { return {data, static_cast<std::size_t>(size)}; }
  std::int64_t bytes() const { return size * static_cast<std::int64_t>(sizeof(T)); }
  operator Array<const T>() const { return {data, size, place, owner}; }
};

/// Uninitialised bytes, aligned to 64 or better; large host blocks ask for huge pages.
/// Throws Error{out_of_memory} naming the size, or Error{not_compiled} where the place needs an absent module.
std::shared_ptr<void> allocate_bytes(std::int64_t bytes, Place place);

/// The same, but never from another library's pool (gpu_allocator.hpp): for memory on GPUs that other GPUs' kernels and other
/// processes reach, which they do as a whole allocation of CUDA.
std::shared_ptr<void> allocate_shared(std::int64_t bytes, Place place);

/// Below this, an array shares its pages with others: locking them would lock parts of those, and copies of memory that
/// is locked in part fail. From here on the C library maps every array alone.
inline constexpr std::int64_t kLeastLocked = 32 << 20;

/// Locks pages that exist already (a NumPy array's, a mapped file's) so that GPUs copy from them at full speed and
/// read them in place; unlocked when the last copy of the result goes. A range counts its users: locking the same one
/// twice locks once. Null, and nothing done, below kLeastLocked and for memory that is locked already. Throws
/// Error{out_of_memory} with the remedy where the system refuses. The bytes themselves must outlive the result.
std::shared_ptr<void> lock_pages(const void* first, std::int64_t bytes);

/// Gives the whole pages within host memory that nobody will read again back to the system; the block stays allocated.
void forget_bytes(void* first, std::int64_t bytes) noexcept;

/// While it lives, reading a byte of a mapped file brings one page from the disk, and not the megabytes around it. It is
/// for a few samples out of a large file, and has no effect on other memory.
class ReadsAlone {
 public:
  template <class T>
  explicit ReadsAlone(const Array<T>& a)
      : ReadsAlone(a.data, a.place.memory == Memory::mapped ? a.bytes() : 0) {}
  ReadsAlone(const void* first, std::int64_t bytes) noexcept;
  ~ReadsAlone();
  /// Says that a byte will be read soon: reads that are announced together travel together.
  void announce(const void* byte) const noexcept;
  ReadsAlone(const ReadsAlone&) = delete;
  ReadsAlone& operator=(const ReadsAlone&) = delete;

 private:
  void* first_ = nullptr;
  std::size_t bytes_ = 0;
};

template <class T>
Array<T> allocate(std::int64_t count, Place place = {}) {
  auto owner = allocate_bytes(count * static_cast<std::int64_t>(sizeof(T)), place);
  return {static_cast<T*>(owner.get()), count, place, owner};
}
inline Array<std::byte> allocate_shared_array(std::int64_t bytes, Place place) {
  auto owner = allocate_shared(bytes, place);
  return {static_cast<std::byte*>(owner.get()), bytes, place, owner};
}

}  // namespace penstock
