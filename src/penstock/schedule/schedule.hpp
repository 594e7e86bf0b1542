#pragma once
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/core/place.hpp"

namespace penstock {

// How a computation walks its matrix. Each is a plain aggregate: a new knob is a new member with a default.

/// The matrix is already where `where` can read it.
struct InCore {
  Where where = {};
};

/// Row blocks are copied through a ring of slots, ahead of the kernel. One ring a device; several `Where{}` are
/// several host devices, which is how the multi-GPU driver is tested without a GPU.
struct Streamed {
  std::vector<Where> devices = {Where{}};
  std::int64_t block_bytes = 0;  // of one slot; 0: the core chooses
  int slots = 3;
  std::int64_t ring_bytes = 0;  // of all slots of one device, at most; 0: no limit but the device's
};

/// Kernels dereference host memory over the link, from 128-byte lines on.
struct ZeroCopy {
  Where where = {};
};

using Schedule = std::variant<InCore, Streamed, ZeroCopy>;

std::string_view name(const Schedule&);  // "in_core", "streamed", "zero_copy"

/// The device of the schedule, or the first of several.
Where first_device(const Schedule& schedule);

/// The one place where placement and schedule meet: throws Error{not_accessible} naming the remedy, or
/// Error{invalid_argument} for options that make no sense.
void check(const Schedule& schedule, Place matrix);

}  // namespace penstock
