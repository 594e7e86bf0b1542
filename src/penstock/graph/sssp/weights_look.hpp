#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "penstock/format/csr.hpp"

// One look at the weights of some entries answers what searches ask of them: whether they are valid, whole, finite, how large, and
// (by a sum of hashes) whether each entry has its mirror. It writes them narrow at the same time.
namespace penstock::graph {

inline constexpr int kLookLanes =
    16;  // sums that a look keeps, whatever the instruction set: so its result is the same
inline constexpr double kLargestWhole = 2147483647.0;

/// What a look found. `good`: no weight is negative or NaN.
struct WeightsFound {
  double smallest = std::numeric_limits<double>::infinity(), largest = 0, sum = 0;  // of the finite ones
  bool whole = true, finite = true, good = true;
  std::uint64_t mirror = 0;  // hashes of the entries above the diagonal, less those of mirrored entries below

  void add(const WeightsFound& other) {
    smallest = std::min(smallest, other.smallest), largest = std::max(largest, other.largest);
    sum += other.sum, mirror += other.mirror;
    whole &= other.whole, finite &= other.finite, good &= other.good;
  }
};

/// `count` entries of a matrix. rows: the row of each, null if `mirror` is not asked for. narrow: where weights go as whole numbers of
/// narrow_bytes each, if not null; what is not whole, or too large, leaves any number there.
template <class V>
struct LookArgs {
  const V* weights = nullptr;
  const Index* columns = nullptr;
  const std::uint32_t* rows = nullptr;
  std::int64_t count = 0;
  void* narrow = nullptr;
  int narrow_bytes = 0;
};

// The hash of an entry: products of both numbers of 32 bits, the larger first, and the bits of the weight, mixed by the finaliser of
// SplitMix64 (Steele, Lea, Flood 2014) without its first shift.
inline constexpr std::uint64_t kHashPair = 0x9e3779b97f4a7c15U, kHashFirst = 0xbf58476d1ce4e5b9U,
                               kHashSecond = 0x94d049bb133111ebU;

/// The bits of a weight, of which zero has the same whatever its sign.
template <class V>
constexpr std::uint64_t bits_of_weight(V value) {
  if constexpr (is_pattern<V>) return 0;
  else if constexpr (sizeof(V) == 4) return std::bit_cast<std::uint32_t>(value + V(0));
  else return std::bit_cast<std::uint64_t>(value + V(0));
}

/// What an entry adds to `mirror`: its mirror adds the opposite.
constexpr std::uint64_t mirror_hash(std::uint32_t row, std::uint32_t column, std::uint64_t bits) {
  if (row == column) return 0;
  auto h = (std::uint64_t(std::max(row, column)) << 32 | std::min(row, column)) * kHashPair;
  h = (h ^ h >> 32) + bits;  // weights are added to what is mixed already: no sum of few numbers is zero
  h = (h ^ h >> 30) * kHashFirst;
  h = (h ^ h >> 27) * kHashSecond;
  h ^= h >> 31;
  return row < column ? h : 0 - h;
}

/// By plain loops, and with AVX-512.
template <class V>
WeightsFound look_at_weights(const LookArgs<V>& p);
namespace avx512 {
template <class V>
WeightsFound look_at_weights(const LookArgs<V>& p);
}

}  // namespace penstock::graph
