#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

namespace penstock {

/// y = B x, where B has dense blocks on its diagonal, of `block` rows each. They are stored row by row, one after
/// the other; the last one may have fewer rows. B has fewer than 2^31 rows, and x and y do not overlap. Sums are in float64,
/// in a fixed order. The product is done in the order of the stream.
template <class T>
void multiply_blocks(const T* blocks, std::int64_t rows, std::int64_t block, const T* x, T* y, Stream stream);

namespace gpu {
template <class T>
void multiply_blocks(const T* blocks, std::int64_t rows, std::int64_t block, const T* x, T* y, Stream stream);
}

}  // namespace penstock
