#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

// Sums to which several writers add at the same time.
namespace penstock {

/// sums[i] += values[i] for i in [0, count), in the order of the stream. No update is lost if others, on this GPU or another,
/// add to the same sums. The stream's device can read `values`; `sums` may be memory of another GPU. T: float, double.
template <class T>
void accumulate(T* sums, const T* values, std::int64_t count, Stream stream);

namespace gpu {
template <class T>
void accumulate(T* sums, const T* values, std::int64_t count, Stream stream);
}

}  // namespace penstock
