#pragma once
#include "penstock/core/place.hpp"

namespace penstock {

/// Waits for all work that is queued on a GPU, on any stream, and forgets its errors: before memory goes back to another
/// library, which may use it again at once.
void drain(Where gpu) noexcept;

}  // namespace penstock
