#pragma once
#include <cstdint>
#include <memory>

#include "penstock/core/array.hpp"

namespace penstock {

/// The same as allocate_bytes, for large blocks of host, pinned or device memory that come and go, such as the results of
/// products. A freed block is kept, and the next one of about its size takes it over with its pages in place. When the
/// system needs memory, it may take back the pages of kept host blocks, but not pinned ones; kept blocks of a GPU are freed
/// when an allocation there would fail without them. At most an eighth of the machine's memory is kept, and an eighth of
/// each GPU's. Where another library allocates the memory of GPUs (gpu_allocator.hpp), it keeps their blocks. Freeing does not
/// wait: when a block on a GPU is freed, nothing may use it any more.
std::shared_ptr<void> reuse_bytes(std::int64_t bytes, Place place = {});

/// The same, but never from another library's pool, as allocate_shared.
std::shared_ptr<void> reuse_shared(std::int64_t bytes, Place place);

template <class T>
Array<T> reuse(std::int64_t count) {
  auto owner = reuse_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  return {static_cast<T*>(owner.get()), count, {}, owner};
}

/// The bytes that are kept in the memory of `place` (all memory of the host counts as one). The second function frees them
/// and returns whether there were any.
std::int64_t kept_bytes(Place place);
bool free_kept(Place place) noexcept;

}  // namespace penstock
