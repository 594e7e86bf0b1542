#pragma once
#include <memory>

#include "penstock/bind/bind.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"
#include "penstock/graph/gpu/packed_tables.hpp"

namespace penstock::bind {

/// Packed lists as Python holds them: made here, or arrays of a file, which are checked before the first use.
class BoundPackedLists : public Guarded<std::shared_ptr<const PackedLists>> {
 public:
  explicit BoundPackedLists(PackedLists lists)
      : BoundPackedLists(std::make_shared<const PackedLists>(std::move(lists))) {}
  explicit BoundPackedLists(std::shared_ptr<const PackedLists> lists)
      : Guarded(lists, Guard::of(lists->bases, lists->heads, lists->words, lists->long_ends)) {}
  void check_first(std::function<void()> check) { guard_.set_check(std::move(check)); }
};

/// Some lists of a graph, by which all of them are packed.
struct BoundListSample {
  std::shared_ptr<const PackedSample> sample;
  std::int64_t bytes = 0;  // of all packed lists, about
};

}  // namespace penstock::bind
