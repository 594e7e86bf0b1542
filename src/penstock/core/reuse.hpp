#pragma once
#include <cstdint>
#include <memory>

#include "penstock/core/array.hpp"

namespace penstock {

/// As allocate_bytes for host, pinned or device memory, for large blocks that come and go, such as the results of products:
/// a freed block is kept, and the next one of about its size takes it over with its pages in place. The system may take a
/// kept block's pages back when it needs memory, but not pinned ones; those of a GPU go when an allocation there would
/// fail without them. At most an eighth of the machine's memory is kept, and of each GPU's. Nothing may use a block on a
/// GPU any more when it is freed: freeing does not wait.
std::shared_ptr<void> reuse_bytes(std::int64_t bytes, Place place = {});

template <class T>
Array<T> reuse(std::int64_t count) {
  auto owner = reuse_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  return {static_cast<T*>(owner.get()), count, {}, owner};
}

/// What is kept where `place` is (all of the host's memory counts as one), and its end; whether there was any.
std::int64_t kept_bytes(Place place);
bool free_kept(Place place) noexcept;

}  // namespace penstock
