#pragma once
#include <atomic>
#include <bit>
#include <cstdint>

#include "penstock/core/reserve.hpp"

namespace penstock {

/// A set of at most 2^31 - 1 numbers in [0, size) that knows how many members lie below any number. It takes one and a half
/// bits for each number in the range. First all members are inserted, then seal() is called, then questions may be asked.
class RankedBits {
 public:
  RankedBits() = default;
  explicit RankedBits(std::int64_t size)
      : bits_(allocate_apart<std::uint64_t>((size + 63) / 64)),
        below_(allocate_apart<std::int32_t>(bits_.size)) {
    for (std::int64_t w = 0; w < bits_.size; ++w) bits_.data[w] = 0;
  }
  void insert(std::int64_t i) { bits_.data[i / 64] |= bit(i); }
  /// insert() for several threads at a time.
  void insert_shared(std::int64_t i) {
    std::atomic_ref word(bits_.data[i / 64]);
    if (!(word.load(std::memory_order_relaxed) & bit(i))) word.fetch_or(bit(i), std::memory_order_relaxed);
  }
  void seal() {
    count_ = 0;
    for (std::int64_t w = 0; w < bits_.size; ++w) {
      below_.data[w] = static_cast<std::int32_t>(count_);
      count_ += std::popcount(bits_.data[w]);
    }
  }

  bool given() const { return bits_.data != nullptr; }  // made with a size
  std::int64_t count() const { return count_; }
  bool has(std::int64_t i) const { return (bits_.data[i / 64] & bit(i)) != 0; }
  /// The number of members below i, for 0 <= i < size. If i is a member, this is its place among the members.
  std::int32_t below(std::int64_t i) const {
    return below_.data[i / 64] + std::popcount(bits_.data[i / 64] & (bit(i) - 1));
  }
  /// f(member), ascending.
  template <class F>
  void each(F&& f) const {
    for (std::int64_t w = 0; w < bits_.size; ++w)
      for (auto left = bits_.data[w]; left; left &= left - 1) f(w * 64 + std::countr_zero(left));
  }

 private:
  static std::uint64_t bit(std::int64_t i) { return std::uint64_t{1} << (i % 64); }
  Array<std::uint64_t> bits_;
  Array<std::int32_t> below_;  // for each word of bits: members in the words before it
  std::int64_t count_ = 0;
};

}  // namespace penstock
