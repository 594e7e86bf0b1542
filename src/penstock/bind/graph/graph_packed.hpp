#pragma once
#include <memory>

#include "penstock/bind/bind.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"

namespace penstock::bind {

/// Packed lists as Python holds them.
struct BoundPackedLists {
  std::shared_ptr<const PackedLists> lists;
};

}  // namespace penstock::bind
