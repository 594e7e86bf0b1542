#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

// Small unsigned numbers side by side in 32-bit words, the lowest bits first.
namespace penstock {

constexpr std::uint32_t low_bits(int width) { return (std::uint32_t(1) << width) - 1; }  // width <= 31

/// The number of `width` bits (at most 31) that begins at bit `at`. Reads the word that holds its first bit, and the next
/// word.
constexpr std::uint32_t read_bits(const std::uint32_t* words, std::int64_t at, int width) {
  const auto* w = words + at / 32;
  const auto both = std::uint64_t(w[1]) << 32 | w[0];
  return static_cast<std::uint32_t>(both >> (at % 32)) & low_bits(width);
}

/// Appends numbers to words, which need not be cleared before. `finish` writes the bits that do not fill a word.
class BitWriter {
 public:
  explicit BitWriter(std::uint32_t* words) : next_(words) {}
  void put(std::uint32_t value, int width) {
    pending_ |= std::uint64_t(value) << filled_;
    filled_ += width;
    if (filled_ < 32) return;
    *next_++ = static_cast<std::uint32_t>(pending_);
    pending_ >>= 32;
    filled_ -= 32;
  }
  /// Returns the first word to which nothing was written.
  std::uint32_t* finish() {
    if (filled_ > 0) *next_++ = static_cast<std::uint32_t>(pending_);
    pending_ = 0, filled_ = 0;
    return next_;
  }

 private:
  std::uint32_t* next_;
  std::uint64_t pending_ = 0;
  int filled_ = 0;
};

}  // namespace penstock
