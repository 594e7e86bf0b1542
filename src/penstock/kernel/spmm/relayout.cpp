#include "penstock/kernel/spmm/relayout.hpp"

#include <cstring>

#include "penstock/core/config.hpp"

namespace penstock {

void relayout(RawDense to, RawDense from, std::int64_t rows, std::int64_t cols, std::int64_t bytes,
              Stream stream) {
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) return gpu::relayout(to, from, rows, cols, bytes, stream);
    else no_cuda("dense matrices on a GPU");
  }
  const auto at = [&](const RawDense& m, std::int64_t i, std::int64_t j) {
    return static_cast<std::byte*>(m.data) + (i * m.row_step + j * m.col_step) * bytes;
  };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      std::memcpy(at(to, i, j), at(from, i, j), static_cast<std::size_t>(bytes));
}

}  // namespace penstock
