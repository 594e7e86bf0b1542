#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

// Sorts one bucket of unsorted entries (a few consecutive rows) by (row, column) and merges what is equal.
//
// A leaf packs row, column and position into one 64-bit key, and a radix sort from the low digit moves keys
// only; values are fetched once, at the end. A bucket too large for a leaf (a skewed matrix, one giant row)
// is first split in place by its top eight bits, again and again, so the scratch never exceeds one leaf
// whatever the input. Equal entries are ordered by the bits of their values before they are summed: the sum
// does not depend on the order of the input, and so neither on the number of threads.
namespace penstock {

/// Entries under construction: three parallel arrays, of which `local` holds the row within the bucket.
template <class V>
struct Bucket {
  std::uint16_t* local;
  Index* cols;
  V* values;  // unused when V is One
  std::int64_t size;
  int row_bits, col_bits;
};

template <class V>
bool less_bits(const V& a, const V& b) {
  if constexpr (sizeof(V) == 4) return std::bit_cast<std::uint32_t>(a) < std::bit_cast<std::uint32_t>(b);
  else if constexpr (sizeof(V) == 8) return std::bit_cast<std::uint64_t>(a) < std::bit_cast<std::uint64_t>(b);
  else {
    using Two = std::array<std::uint64_t, 2>;
    return std::bit_cast<Two>(a) < std::bit_cast<Two>(b);
  }
}

/// The sum of n >= 1 values in the order of their bits; single precision adds up in double precision.
template <class V>
V canonical_sum(V* values, std::int64_t n) {
  std::sort(values, values + n, less_bits<V>);
  using Wide = std::conditional_t<std::same_as<V, float>, double,
                                  std::conditional_t<std::same_as<V, Complex64>, Complex128, V>>;
  auto sum = static_cast<Wide>(values[0]);
  for (std::int64_t k = 1; k < n; ++k) sum += static_cast<Wide>(values[k]);
  return static_cast<V>(sum);
}

template <class V>
class BucketSorter {
 public:
  /// Leaves the sorted entries at the front of the bucket, adds their number in each row to `row_counts`, and
  /// returns how many there are. Without `merge` equal entries all stay, ordered by the bits of their values.
  std::int64_t run(const Bucket<V>& bucket, Offset* row_counts, bool merge) {
    bucket_ = bucket, row_counts_ = row_counts, merge_ = merge, out_ = 0;
    const int bits = bucket.row_bits + bucket.col_bits;
    limit_ = std::int64_t{1} << std::min(kLeafBits, 64 - bits);
    split(0, bucket.size, bits);
    return out_;
  }

 private:
  static constexpr int kLeafBits = 17;
  static constexpr int kMaxDigit = 11;
  static constexpr std::int64_t kLook = 1 << 20;     // entries between two calls of poll_interrupt()
  static constexpr std::int64_t kSmall = 192;        // below it std::sort beats clearing the histograms
  static constexpr std::int64_t kWideDigits = 8192;  // from here on 11-bit digits beat 8-bit ones

  std::uint64_t key(std::int64_t k) const {
    return std::uint64_t{bucket_.local[k]} << bucket_.col_bits | static_cast<std::uint32_t>(bucket_.cols[k]);
  }
  void exchange(std::int64_t i, std::int64_t k) {
    std::swap(bucket_.local[i], bucket_.local[k]);
    std::swap(bucket_.cols[i], bucket_.cols[k]);
    if constexpr (!is_pattern<V>) std::swap(bucket_.values[i], bucket_.values[k]);
  }

  /// Splits the entries [first, last) in place, until a part fits a leaf. They agree in all bits of the key but the low
  /// `bits`.
  void split(std::int64_t first, std::int64_t last, int bits) {
    if (last - first <= limit_) return leaf(first, last - first);
    if (bits == 0) return all_equal(first, last);
    poll_interrupt();
    const int low = std::max(0, bits - 8);
    const auto digit = [&](std::int64_t k) { return key(k) >> low & 255; };
    std::array<std::int64_t, 257> end{};
    for (auto k = first; k < last;) {
      for (const auto stop = std::min(last, k + kLook); k < stop; ++k) ++end[digit(k)];
      poll_interrupt();
    }
    std::array<std::int64_t, 256> next;
    for (auto at = first; auto& e : end) {
      const auto d = static_cast<std::size_t>(&e - end.data());
      if (d < 256) next[d] = at, at += e, e = at;
    }
    std::int64_t moves = 0;
    for (std::size_t d = 0; d < 256; ++d)
      while (next[d] < end[d]) {
        const auto home = digit(next[d]);
        if (home != d) exchange(next[d], next[home]);
        ++next[home];
        if (++moves % kLook == 0) poll_interrupt();
      }
    for (std::size_t d = 0; d < 256; ++d) {
      const auto begin = d == 0 ? first : end[d - 1];
      if (begin < end[d]) split(begin, end[d], low);
    }
  }

  /// For entries [first, last) with one row and column, which are more than a leaf holds.
  void all_equal(std::int64_t first, std::int64_t last) {
    const auto row = bucket_.local[first];
    const auto column = bucket_.cols[first];
    const auto kept = merge_ ? 1 : last - first;
    if constexpr (!is_pattern<V>) {
      auto* const same = bucket_.values + first;
      const auto sum = canonical_sum(same, last - first);
      if (merge_) bucket_.values[out_] = sum;
      else std::copy(same, bucket_.values + last, bucket_.values + out_);
    }
    std::fill_n(bucket_.cols + out_, kept, column);
    row_counts_[row] += kept;
    out_ += kept;
  }

  void leaf(std::int64_t first, std::int64_t n) {
    if (n == 0) return;
    const int position_bits =
        is_pattern<V> ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
    const auto count = static_cast<std::size_t>(n);
    if (keys_.size() < count) keys_.resize(count), other_.resize(count);
    if constexpr (!is_pattern<V>)
      if (sorted_.size() < count) sorted_.resize(count);
    for (std::int64_t k = 0; k < n; ++k) {
      keys_[static_cast<std::size_t>(k)] = key(first + k) << position_bits;
      if constexpr (!is_pattern<V>) keys_[static_cast<std::size_t>(k)] |= static_cast<std::uint64_t>(k);
    }
    sort_keys(count, position_bits, bucket_.row_bits + bucket_.col_bits);
    emit(first, count, position_bits);
  }

  void sort_keys(std::size_t n, int low, int bits) {
    if (static_cast<std::int64_t>(n) < kSmall) {
      std::sort(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(n));
      return;
    }
    const int widest = static_cast<std::int64_t>(n) < kWideDigits ? 8 : kMaxDigit;
    const int passes = (bits + widest - 1) / widest;
    for (int pass = 0; pass < passes; ++pass) {
      const int from = bits * pass / passes, width = bits * (pass + 1) / passes - from;
      const int shift = low + from;
      const auto mask = (std::uint64_t{1} << width) - 1;
      std::array<std::uint32_t, 1 << kMaxDigit> at;
      std::fill_n(at.begin(), mask + 1, 0);
      const auto* keys = keys_.data();
      auto* other = other_.data();
      for (std::size_t k = 0; k < n; ++k) ++at[keys[k] >> shift & mask];
      if (at[keys[0] >> shift & mask] == n) continue;  // all share this digit
      for (std::uint32_t sum = 0; auto& e : std::span(at).first(mask + 1)) sum += std::exchange(e, sum);
      for (std::size_t k = 0; k < n; ++k) other[at[keys[k] >> shift & mask]++] = keys[k];
      keys_.swap(other_);
    }
  }

  void emit(std::int64_t first, std::size_t n, int position_bits) {
    const auto column_mask = (std::uint64_t{1} << bucket_.col_bits) - 1;
    [[maybe_unused]] const auto position_mask = (std::uint64_t{1} << position_bits) - 1;
    auto* cols = bucket_.cols + out_;
    std::int64_t kept = 0;
    for (std::size_t k = 0; k < n;) {
      const auto entry = keys_[k] >> position_bits;
      auto last = k + 1;
      while (last < n && keys_[last] >> position_bits == entry) ++last;
      const auto copies = merge_ ? 1 : static_cast<std::int64_t>(last - k);
      if constexpr (!is_pattern<V>) {
        const auto* values = bucket_.values + first;
        for (auto i = k; i < last; ++i)
          sorted_[static_cast<std::size_t>(kept) + i - k] = values[keys_[i] & position_mask];
        if (last > k + 1) {
          auto* const same = sorted_.data() + kept;
          const auto sum = canonical_sum(same, static_cast<std::int64_t>(last - k));
          if (merge_) *same = sum;
        }
      }
      for (std::int64_t i = 0; i < copies; ++i) cols[kept + i] = static_cast<Index>(entry & column_mask);
      row_counts_[entry >> bucket_.col_bits] += copies;
      kept += copies;
      k = last;
    }
    if constexpr (!is_pattern<V>) std::copy_n(sorted_.data(), kept, bucket_.values + out_);
    out_ += kept;
  }

  Bucket<V> bucket_{};
  Offset* row_counts_ = nullptr;
  bool merge_ = true;
  std::int64_t limit_ = 0, out_ = 0;
  std::vector<std::uint64_t> keys_, other_;
  std::vector<V> sorted_;
};

}  // namespace penstock
