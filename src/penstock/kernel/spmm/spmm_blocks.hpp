#pragma once
#include <algorithm>
#include <cstdint>

namespace penstock {

/// How many nonzeros plus rows a block has where threads claim blocks of a product with several columns. Smaller blocks balance
/// better, larger ones cost fewer claims: there are 32 at least, as long as each has some 100 us of work.
inline std::int64_t spmm_block_cost(std::int64_t rows, std::int64_t nnz, std::int64_t columns) {
  constexpr std::int64_t blocks = 32, work = 1 << 20;  // entries times columns of a block
  constexpr std::int64_t least_cost = 512, least_most = 2048, most_cost = 32 << 10;
  const auto most = std::clamp(work / std::max<std::int64_t>(1, columns), least_most, most_cost);
  return std::clamp((nnz + rows) / blocks, least_cost, most);
}

}  // namespace penstock
