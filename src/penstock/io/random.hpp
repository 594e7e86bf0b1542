#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

// Random numbers by counter: the i-th number of a stream is a hash of (seed, stream, i), so any thread can
// make any part of a matrix and all agree. The hash is the output function of SplitMix64 (Steele, Lea, Flood
// 2014) over its own sequence of states. What draws is constexpr and holds no memory of its own: GPUs call the
// same functions, and make the same matrices.
namespace penstock {

constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

class Random {
 public:
  /// The streams of a seed are independent; give each use its own stream number.
  constexpr Random(std::uint64_t seed, std::uint64_t stream)
      : key_(mix64(mix64(seed + kStep) ^ stream * kStep)) {}
  constexpr std::uint64_t operator()(std::uint64_t i) const { return mix64(key_ + (i + 1) * kStep); }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  std::uint64_t key_;
};

/// A number in [0, n) from 64 random bits; the bias is below n / 2^64.
constexpr std::int64_t below(std::uint64_t bits, std::int64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>(Wide{bits} * static_cast<std::uint64_t>(n) >> 64);
}

/// A number in (0, 1] with all the bits that V holds.
template <class V>
constexpr V unit(std::uint64_t bits) {
  if constexpr (sizeof(V) == 4) return static_cast<V>((bits >> 40) + 1) * 0x1p-24f;
  else return static_cast<V>((bits >> 11) + 1) * 0x1p-53;
}

/// The test `bits < threshold(p)` is true with probability p; with p = 1 it fails once in 2^64.
constexpr std::uint64_t threshold(double p) {
  if (p >= 1) return ~std::uint64_t{0};
  return p <= 0 ? 0 : static_cast<std::uint64_t>(p * 0x1p64);
}

/// A seeded bijection of [0, n): rounds of multiplications and shifts modulo a power of two, repeated until the result is
/// below n.
class Scramble {
 public:
  constexpr Scramble(std::uint64_t seed, std::int64_t n, bool on)
      : on_(on), n_(static_cast<std::uint64_t>(n)) {
    const int bits = std::max(1, static_cast<int>(std::bit_width(n_ == 0 ? 0 : n_ - 1)));
    mask_ = (std::uint64_t{1} << bits) - 1;
    shift_ = std::max(1, bits / 2);
    const Random random(seed, 0x5c7a);
    for (std::uint64_t i = 0; auto& round : rounds_) {
      round = {random(i) | 1, random(i + 1)};
      i += 2;
    }
  }
  constexpr std::int64_t operator()(std::int64_t i) const {
    if (!on_) return i;
    auto x = static_cast<std::uint64_t>(i);
    do {
      for (const auto& round : rounds_) {
        x = (x * round.odd + round.add) & mask_;
        x ^= x >> shift_;
      }
    } while (x >= n_);
    return static_cast<std::int64_t>(x);
  }

 private:
  struct Round {
    std::uint64_t odd, add;
  };
  bool on_;
  std::uint64_t n_, mask_ = 0;
  int shift_ = 1;
  Round rounds_[3] = {};
};

struct alignas(8) AliasCell {
  std::uint32_t threshold, other;
};

/// The cells of an AliasTable, wherever they lie.
struct AliasView {
  const AliasCell* cells;
  std::int64_t size;
  constexpr std::int64_t operator()(std::uint64_t bits) const {
    const auto i = below(bits, size);
    const auto cell = cells[i];
    // A mask instead of a branch, which could not be predicted and would cost more than everything else here.
    const auto keep = -static_cast<std::int64_t>(static_cast<std::uint32_t>(bits) < cell.threshold);
    return (i & keep) | (static_cast<std::int64_t>(cell.other) & ~keep);
  }
};

/// Draws i with probability weights[i] / sum in constant time (Walker 1977, built as Vose 1991), to 32 bits.
class AliasTable {
 public:
  explicit AliasTable(std::span<const double> weights);
  AliasView view() const { return {cells_.data(), static_cast<std::int64_t>(cells_.size())}; }
  std::int64_t operator()(std::uint64_t bits) const { return view()(bits); }

 private:
  std::vector<AliasCell> cells_;
};

/// The values of entries: uniform in (0, 1], by a hash of (seed, row, column). With `symmetric` it is a hash of the unordered
/// pair, so that both directions of an undirected edge have the same weight.
class EntryValues {
 public:
  constexpr EntryValues(std::uint64_t seed, bool symmetric) : random_(seed, 0x7a1), symmetric_(symmetric) {}
  template <class V>
  constexpr V of(std::int64_t row, std::int64_t column) const {
    const bool swap = symmetric_ && row > column;
    const auto first = static_cast<std::uint64_t>(swap ? column : row);
    const auto second = static_cast<std::uint64_t>(swap ? row : column);
    return unit<V>(random_(first << 32 | second));
  }
  /// The same for numbers of 64 bits, of which `of` tells only those below 2^32 apart.
  template <class V>
  constexpr V of_wide(std::int64_t row, std::int64_t column) const {
    const bool swap = symmetric_ && row > column;
    const auto first = static_cast<std::uint64_t>(swap ? column : row);
    const auto second = static_cast<std::uint64_t>(swap ? row : column);
    const auto low = first << 32 | (second & 0xffffffff), high = first >> 32 << 32 | second >> 32;
    return unit<V>(random_(low + 0x9e3779b97f4a7c15 * high));
  }

 private:
  Random random_;
  bool symmetric_;
};

}  // namespace penstock
