#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

// Sums that several writers add to at once.
namespace penstock {

/// sums[i] += values[i] for i in [0, count), ordered on the stream: no update is lost, whoever else adds to the same sums,
/// from this GPU or another. `values` is readable where the stream computes; `sums` may be another GPU's. T: float, double.
template <class T>
void accumulate(T* sums, const T* values, std::int64_t count, Stream stream);

namespace gpu {
template <class T>
void accumulate(T* sums, const T* values, std::int64_t count, Stream stream);
}

}  // namespace penstock
