#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/format/packed.hpp"
#include "penstock/format/short_floats.hpp"

namespace penstock {

/// The bits of a value. Values are equal if all bits are: NaNs with another payload differ, and so do 0.0 and -0.0.
struct ValueBits {
  std::uint64_t low = 0, high = 0;
  auto operator<=>(const ValueBits&) const = default;
  /// 10 bits, taken from the top of a product, because the low bits of doubles that are small whole numbers are all 0.
  std::size_t hash() const {
    return static_cast<std::size_t>((low ^ high * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u >> 54);
  }
};
template <class V>
ValueBits bits_of(const V& v) {
  ValueBits b;
  std::memcpy(static_cast<void*>(&b), &v, sizeof(V));
  return b;
}

/// Up to 256 different values, each with a number.
class Dictionary {
 public:
  static constexpr std::size_t kMost = 256;
  Dictionary() { cells_.fill(-1); }

  /// The number of a value, which is added if it is new; -1 if there is no room for it.
  int add(const ValueBits& v) {
    for (auto i = v.hash();; i = (i + 1) % kCells) {
      const int code = cells_[i];
      if (code >= 0 && entries_[static_cast<std::size_t>(code)] == v) return code;
      if (code >= 0) continue;
      if (entries_.size() == kMost) return -1;
      entries_.push_back(v);
      return cells_[i] = static_cast<std::int16_t>(entries_.size() - 1);
    }
  }
  const std::vector<ValueBits>& entries() const { return entries_; }

 private:
  static constexpr std::size_t kCells = 1024;
  std::array<std::int16_t, kCells> cells_;  // -1: free
  std::vector<ValueBits> entries_;
};

/// Whether v converted to U and back has the same bits.
template <class U, class V>
bool holds(V v) {
  if constexpr (std::same_as<U, float>) {
    constexpr auto kMost = static_cast<V>(std::numeric_limits<float>::max());
    const bool finite = v - v == V(0);
    if (finite && (v > kMost || v < -kMost)) return false;
  } else if constexpr (is_short_float<U>) {
    if (!holds<float>(v)) return false;
    constexpr V kMost = std::same_as<U, Float16> ? V(65504) : std::numeric_limits<V>::infinity();
    if (!(v <= kMost && v >= -kMost)) return false;
    const float f = static_cast<float>(v);
    return bits_of(float(U(f))) == bits_of(f);
  } else if (!(v >= static_cast<V>(std::numeric_limits<U>::min()) &&
               v <= static_cast<V>(std::numeric_limits<U>::max()))) {
    return false;
  }
  return bits_of(static_cast<V>(static_cast<U>(v))) == bits_of(v);
}

/// How the values of a whole matrix are packed.
struct ValueCode {
  ValueKind kind = ValueKind::none;
  Dictionary dictionary;  // its entries in ascending order of their bits
};

/// Finds the shortest way to store all values. Reads them in parallel, and stops early if nothing short can hold them.
template <class V>
ValueCode choose_code(const Array<const V>& values, int threads);

/// Writes `count` values, and the dictionary where the kind has one, both to zeroed memory.
template <class V>
void write_values(const ValueCode& code, const V* from, std::int64_t count, std::byte* to, V* dictionary);

/// Reads `count` values of a block, from value `first` on, and writes them to `to`.
template <class V>
void read_values(const PackedView& block, std::int64_t first, std::int64_t count, V* to) {
  const auto& h = block.header();
  const auto convert = [&]<class U>(const U* from) {
    for (std::int64_t k = 0; k < count; ++k) to[k] = static_cast<V>(from[first + k]);
  };
  switch (h.kind) {
    case ValueKind::none: return;
    case ValueKind::constant:
      for (std::int64_t k = 0; k < count; ++k) to[k] = *block.dictionary<V>();
      return;
    case ValueKind::dictionary4: {
      const auto* codes = block.values<std::uint8_t>();
      for (auto k = first; k < first + count; ++k)
        to[k - first] = block.dictionary<V>()[codes[k / 2] >> (k % 2 * 4) & 15];
      return;
    }
    case ValueKind::dictionary8:
      for (std::int64_t k = 0; k < count; ++k)
        to[k] = block.dictionary<V>()[block.values<std::uint8_t>()[first + k]];
      return;
    case ValueKind::raw: std::memcpy(to, block.values<V>() + first, std::size_t(count) * sizeof(V)); return;
    case ValueKind::int8:
    case ValueKind::int16:
    case ValueKind::bfloat16:
    case ValueKind::float16:
    case ValueKind::float32: break;
  }
  if constexpr (std::is_arithmetic_v<V>) {
    if (h.kind == ValueKind::bfloat16) convert(block.values<Bfloat16>());
    if (h.kind == ValueKind::float16) convert(block.values<Float16>());
    if (h.kind == ValueKind::int8) convert(block.values<std::int8_t>());
    if (h.kind == ValueKind::int16) convert(block.values<std::int16_t>());
    if (h.kind == ValueKind::float32) convert(block.values<float>());
  }
}

/// Calls f(i) once for every i in [0, n), on at most `threads` threads; 0: on all.
template <class F>
void parallel_up_to(int threads, std::int64_t n, F&& f) {
  if (threads <= 0) return parallel_for(n, f);
  std::atomic<std::int64_t> next = 0;
  parallel_for(std::min<std::int64_t>(threads, n), [&](std::int64_t) {
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) {
      f(i);
      poll_interrupt();
    }
  });
}

}  // namespace penstock
