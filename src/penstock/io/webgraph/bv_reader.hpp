#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "penstock/core/array.hpp"

// Bits of a compressed graph, the highest of each byte first, and the instantaneous codes of Boldi and Vigna, "The WebGraph
// framework I", WWW 2004, and "Codes for the World Wide Web", Internet Mathematics 2(4), 2005. All codes count from 0.
namespace penstock {

/// What a damaged stream is found to hold; whoever decodes adds where.
struct BvFault {
  std::string what;
};

/// Reads beyond the end give zeros, of which no code consists, so every code there is a fault.
class BvReader {
 public:
  explicit BvReader(const Array<const std::uint8_t>& bytes) : data_(bytes.data), size_(bytes.size) {}

  std::int64_t at() const { return next_ * 8 - have_; }
  void seek(std::int64_t bit) {
    next_ = bit >> 3, have_ = 0, bits_ = 0;
    fill();
    take(static_cast<int>(bit & 7));
  }

  std::uint32_t unary() {
    fill();
    const int zeros = leading();
    if (zeros >= kSure) [[unlikely]]
      return unary_long();
    take(zeros + 1);
    return static_cast<std::uint32_t>(zeros);
  }

  std::uint64_t gamma() {
    fill();
    const int zeros = leading();
    if (2 * zeros >= kSure) [[unlikely]]
      return gamma_long();
    const auto value = (bits_ >> (63 - 2 * zeros)) - 1;
    take(2 * zeros + 1);
    return value;
  }

  std::uint64_t delta() {
    const auto length = gamma();
    if (length > kMostBits) fault();
    return ((std::uint64_t(1) << length) | number(static_cast<int>(length))) - 1;
  }

  std::uint64_t zeta(int k) {
    fill();
    const int h = leading(), width = h * k + k - 1;
    if (h + 2 + width > kSure) [[unlikely]]
      return zeta_long(k);
    const auto bits = bits_ << (h + 1);
    const auto longer = bits >> (63 - width);  // with one bit more than `width`
    const auto left = std::uint64_t(1) << (h * k);
    const bool is_longer = (longer >> 1) >= left;
    take(h + 1 + width + is_longer);
    return is_longer ? longer - 1 : (longer >> 1) + left - 1;
  }

  std::uint64_t nibble() {
    std::uint64_t value = 0;
    for (int i = 0; i < 11; ++i) {
      const auto four = number(4);
      value = value << 3 | (four & 7);
      if (four & 8) return value;
    }
    fault();
  }

 private:
  static constexpr int kSure = 56;      // bits that there are after fill()
  static constexpr int kMostBits = 40;  // of any number: vertices have 31, and a bit for the sign

  int leading() const { return std::countl_zero(bits_ | 1); }
  void take(int count) { bits_ <<= count, have_ -= count; }

  /// Behind the bits that are counted may stand some that will be put there again: they are the same.
  void fill() {
    if (next_ + 8 > size_) [[unlikely]]
      return fill_at_end();
    std::uint64_t more;
    std::memcpy(&more, data_ + next_, 8);
    bits_ |= __builtin_bswap64(more) >> have_;
    next_ += (63 - have_) >> 3;
    have_ |= 56;
  }
  void fill_at_end();
  /// `width` is at most kMostBits + 8.
  std::uint64_t number(int width) {
    fill();
    const auto value = (bits_ >> 1) >> (63 - width);
    take(width);
    return value;
  }
  [[noreturn]] void fault() const;
  std::uint32_t unary_long();
  std::uint64_t gamma_long();
  std::uint64_t zeta_long(int k);

  const std::uint8_t* data_;
  std::int64_t size_, next_ = 0;
  std::uint64_t bits_ = 0;  // the next ones, from the highest
  int have_ = 0;            // how many of them count, at most 63
};

}  // namespace penstock
