#include "penstock/io/random.hpp"

#include <numeric>

namespace penstock {

AliasTable::AliasTable(std::span<const double> weights) : cells_(weights.size()) {
  const auto n = weights.size();
  const auto sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> share(n);  // 1 fills a cell
  std::vector<std::uint32_t> small, large;
  for (std::size_t i = 0; i < n; ++i) {
    share[i] = weights[i] / sum * static_cast<double>(n);
    (share[i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
  }
  while (!small.empty() && !large.empty()) {
    const auto low = small.back(), high = large.back();
    small.pop_back();
    cells_[low] = {static_cast<std::uint32_t>(share[low] * 0x1p32), high};
    share[high] -= 1 - share[low];
    if (share[high] >= 1) continue;
    large.pop_back();
    small.push_back(high);
  }
  for (const auto& rest : {small, large})  // 1 but for rounding
    for (const auto i : rest) cells_[i] = {~std::uint32_t{0}, i};
}

}  // namespace penstock
