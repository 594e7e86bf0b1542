#include "penstock/kernel/vectors/dense_blocks.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/dot.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kAlone = 32 << 10;  // for so few entries, waking a thread costs more than it brings

}  // namespace

template <class T>
void multiply_blocks(const T* blocks, std::int64_t rows, std::int64_t block, const T* x, T* y,
                     Stream stream) {
  require(block >= 1 && rows >= 0 && rows <= std::numeric_limits<std::int32_t>::max(), [&] {
    return "multiply_blocks: " + std::to_string(rows) + " rows in blocks of " + std::to_string(block);
  });
  if (rows == 0) return;
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) return gpu::multiply_blocks(blocks, rows, block, x, y, stream);
    else no_cuda("dense blocks on a GPU");
  }
  const auto count = (rows + block - 1) / block;
  const auto per_thread = rows * block <= kAlone ? count : std::max<std::int64_t>(1, 4096 / block);
  parallel_ranges(count, per_thread, [&](std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k) {
      const auto from = k * block, size = std::min(block, rows - from);
      const T* row = blocks + from * block;
      for (std::int64_t i = 0; i < size; ++i, row += size)
        y[from + i] = static_cast<T>(dot(row, x + from, size));
    }
  });
}

template void multiply_blocks(const float*, std::int64_t, std::int64_t, const float*, float*, Stream);
template void multiply_blocks(const double*, std::int64_t, std::int64_t, const double*, double*, Stream);

}  // namespace penstock
