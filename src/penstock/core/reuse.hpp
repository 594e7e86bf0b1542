#pragma once
#include <cstdint>
#include <memory>

#include "penstock/core/array.hpp"

namespace penstock {

/// As allocate_bytes for host or pinned memory, for large blocks that come and go, such as the results of products: a freed block is
/// kept, and the next one of about its size takes it over with its pages in place. The system may take a kept block's
/// pages back when it needs memory, but not pinned ones. At most an eighth of the machine's memory is kept.
std::shared_ptr<void> reuse_bytes(std::int64_t bytes, Place place = {});

template <class T>
Array<T> reuse(std::int64_t count) {
  auto owner = reuse_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  return {static_cast<T*>(owner.get()), count, {}, owner};
}

}  // namespace penstock
