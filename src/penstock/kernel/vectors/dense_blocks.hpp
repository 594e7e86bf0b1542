#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

namespace penstock {

/// y = B x, where B has dense blocks on its diagonal: of `block` rows each (1 .. 1024), by rows, one after the other; the last one may
/// have fewer. Fewer than 2^31 rows. x and y do not overlap. Sums are in float64, in a fixed order. Ordered on the stream.
template <class T>
void multiply_blocks(const T* blocks, std::int64_t rows, std::int64_t block, const T* x, T* y, Stream stream);

namespace gpu {
template <class T>
void multiply_blocks(const T* blocks, std::int64_t rows, std::int64_t block, const T* x, T* y, Stream stream);
}

}  // namespace penstock
