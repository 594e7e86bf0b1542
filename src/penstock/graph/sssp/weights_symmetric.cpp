// Checks whether a weighted graph is its own mirror, without transposing it: hashes of the entries (i, j, w) are summed, and
// so are hashes of (j, i, w). The sums are equal if the entries are the same in some order.
#include <atomic>
#include <bit>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/sssp/weights.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRows = 4 << 10;

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

template <class V>
std::uint64_t bits_of(V value) {
  value += V(0);  // zero has two signs
  if constexpr (sizeof(V) == 4) return std::bit_cast<std::uint32_t>(value);
  else return std::bit_cast<std::uint64_t>(value);
}

}  // namespace

template <class V>
bool symmetric_weights(const Csr<V>& a) {
  if (a.rows != a.cols) return false;
  std::atomic<std::uint64_t> sums[2] = {0, 0};
  parallel_ranges(a.rows, kRows, [&](std::int64_t first, std::int64_t last) {
    std::uint64_t mine[2] = {0, 0};
    for (auto i = first; i < last; ++i)
      for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k) {
        const auto j = static_cast<std::int64_t>(a.indices.data[k]);
        if (i == j) continue;
        std::uint64_t seed = 0x9e3779b97f4a7c15U;
        if constexpr (!is_pattern<V>) seed = mix(seed ^ bits_of(a.values.data[k]));
        const auto there = mix(seed + (static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint64_t>(j)));
        const auto back = mix(seed + (static_cast<std::uint64_t>(j) << 32 | static_cast<std::uint64_t>(i)));
        mine[0] += there - back;
        mine[1] += mix(there ^ seed) - mix(back ^ seed);
      }
    for (int s = 0; s < 2; ++s) sums[s].fetch_add(mine[s], std::memory_order_relaxed);
  });
  return sums[0] == 0 && sums[1] == 0;
}

template bool symmetric_weights(const Csr<One>&);
template bool symmetric_weights(const Csr<float>&);
template bool symmetric_weights(const Csr<double>&);

}  // namespace penstock
