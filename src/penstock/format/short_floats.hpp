#pragma once
#include <bit>
#include <cstdint>

#include "penstock/core/choice.hpp"
#include "penstock/format/csr.hpp"

// Floating-point numbers of 16 bits, in which packed matrices keep values that they hold exactly (format/pack_values.hpp).
namespace penstock {

/// The upper half of a float: 8 bits of precision, the range of a float.
struct Bfloat16 {
  std::uint16_t bits = 0;
  constexpr Bfloat16() = default;
  /// Of a number that it holds; the bits below are cut off.
  explicit constexpr Bfloat16(float v) : bits(std::uint16_t(std::bit_cast<std::uint32_t>(v) >> 16)) {}
  static constexpr Bfloat16 of(std::uint16_t bits) {
    Bfloat16 v;
    v.bits = bits;
    return v;
  }
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t(bits) << 16); }
};

/// IEEE 754's binary16: 11 bits of precision, numbers up to 65504. Those that are not finite are never stored.
struct Float16 {
  std::uint16_t bits = 0;
  constexpr Float16() = default;
  explicit constexpr Float16(float v) {
    // With a float's exponent moved by 112 the number is this one's, 13 bits further up.
    const auto sign = std::bit_cast<std::uint32_t>(v) >> 16 & 0x8000u;
    const auto moved = std::bit_cast<std::uint32_t>(v * 0x1p-112f) >> 13 & 0x7fffu;
    bits = std::uint16_t(sign | moved);
  }
  static constexpr Float16 of(std::uint16_t bits) {
    Float16 v;
    v.bits = bits;
    return v;
  }
  constexpr operator float() const {
    const auto magnitude = std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x8000u) << 16);
  }
};

template <class T>
inline constexpr bool is_short_float = std::same_as<T, Bfloat16> || std::same_as<T, Float16>;

/// A type of 16 bits that values may be rounded to.
struct ShortFloat : Choice {
  int precision;    // bits, with the leading one
  int least;        // exponent of the smallest number with this precision
  double most;      // the largest number
  double smallest;  // the smallest positive one, of one bit
  double unit;      // rounding changes a number by at most so much of it
};
inline constexpr ShortFloat kShortFloats[] = {
    {{"bfloat16", "8 bits of precision, the range of float32"}, 8, -126, 0x1.fep127, 0x1p-133, 0x1p-8},
    {{"float16", "11 bits of precision, numbers up to 65504"}, 11, -14, 65504, 0x1p-24, 0x1p-11},
};

/// v to the nearest number of a type; of two to the even one. Infinity where that is beyond `most`.
double rounded(double v, const ShortFloat& to);

/// A with each value rounded; its type stays. Throws Error{invalid_argument} that names the first entry that overflows, becomes zero, or is
/// not finite, and the remedy.
template <class V>
Csr<V> rounded(const Csr<V>& a, const ShortFloat& to);

}  // namespace penstock
