#include "penstock/kernel/spmm_gpu.hpp"

#include <algorithm>
#include <vector>

namespace penstock {

std::int64_t spmm_gpu_scratch_bytes(std::int64_t rows, std::int64_t nnz, std::int64_t columns,
                                    std::int64_t entry_bytes) {
  const auto total = rows + nnz;
  // Blocks take 1024 items, and less where that would leave the GPU idle. A cell holds at most 128 columns.
  const auto blocks = total / 1024 + std::min<std::int64_t>(total / 256, 8448) + 1;
  const auto units = total / 128 + std::min<std::int64_t>(total / 32, 540'000) + 2;
  return 2 * blocks * std::clamp<std::int64_t>((columns + 31) / 32 * 32, 32, 128) * entry_bytes + 8 * units;
}

bool repeats_columns(const Index* sample, std::int64_t count, std::int64_t cols) {
  std::vector<Index> sorted(sample, sample + count);
  std::sort(sorted.begin(), sorted.end());
  double pairs = 0;
  for (std::size_t i = 0, run = 0; i < sorted.size(); ++i) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 0;
    pairs += static_cast<double>(run);
  }
  const auto n = static_cast<double>(count);
  const double expected = n * n / (2 * static_cast<double>(std::max<std::int64_t>(cols, 1)));
  return pairs > 4 * expected + 16;  // R-MAT 24: 160 pairs of a sample of 4096, and 0.5 expected
}

}  // namespace penstock
