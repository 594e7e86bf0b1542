#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

namespace penstock {

/// A dense matrix on a GPU without its type: entry (i, j) is `bytes` bytes at data + (i * row_step + j * col_step) * bytes.
struct RawDense {
  void* data = nullptr;
  std::int64_t row_step = 0, col_step = 1;
};

/// Copies rows x cols entries of 1, 4, 8 or 16 bytes from one layout to another, in the order of the stream. It is made for
/// changes between row-major and column-major, where both sides are read and written in whole lines.
void relayout(RawDense to, RawDense from, std::int64_t rows, std::int64_t cols, std::int64_t bytes,
              Stream stream);

namespace gpu {
void relayout(RawDense to, RawDense from, std::int64_t rows, std::int64_t cols, std::int64_t bytes,
              Stream stream);
}

}  // namespace penstock
