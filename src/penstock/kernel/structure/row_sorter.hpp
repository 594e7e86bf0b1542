#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Sorts one row at a time by column, in place; equal columns keep their order. Short rows are sorted by insertion, longer
/// ones by keys of (column, position), and long ones by a radix sort of the entries. Its scratch memory grows to the longest
/// row.
template <class V>
class RowSorter {
 public:
  /// Columns lie in [0, cols); `values` is not read where V is One.
  void sort(Index* columns, V* values, std::int64_t n, std::int64_t cols) {
    if (std::is_sorted(columns, columns + n)) return;
    if (n <= kShort) insertion(columns, values, n);
    else if (n <= kMedium) by_keys(columns, values, static_cast<std::size_t>(n));
    else radix(columns, values, static_cast<std::size_t>(n), cols);
  }

 private:
  static constexpr std::int64_t kShort = 24;
  static constexpr std::int64_t kMedium = 64;
  // From this length on, 11-bit digits are faster than 8-bit ones.
  static constexpr std::size_t kWideDigits = 8192;
  static constexpr int kMaxDigit = 11;

  void insertion(Index* columns, V* values, std::int64_t n) {
    for (std::int64_t k = 1; k < n; ++k) {
      const auto column = columns[k];
      V value{};
      if constexpr (!is_pattern<V>) value = values[k];
      auto at = k;
      for (; at > 0 && columns[at - 1] > column; --at) {
        columns[at] = columns[at - 1];
        if constexpr (!is_pattern<V>) values[at] = values[at - 1];
      }
      columns[at] = column;
      if constexpr (!is_pattern<V>) values[at] = value;
    }
  }

  void by_keys(Index* columns, V* values, std::size_t n) {
    if constexpr (is_pattern<V>) {
      std::sort(columns, columns + n);
    } else {
      keys_.resize(n);
      values_.assign(values, values + n);
      for (std::size_t k = 0; k < n; ++k) keys_[k] = static_cast<std::uint64_t>(columns[k]) << 32 | k;
      std::sort(keys_.begin(), keys_.end());
      for (std::size_t k = 0; k < n; ++k) {
        columns[k] = static_cast<Index>(keys_[k] >> 32);
        values[k] = values_[keys_[k] & 0xffffffffu];
      }
    }
  }

  void radix(Index* columns, V* values, std::size_t n, std::int64_t cols) {
    columns_.resize(std::max(columns_.size(), n));
    if constexpr (!is_pattern<V>) values_.resize(std::max(values_.size(), n));
    const int bits = std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(cols, 2) - 1));
    const int widest = n < kWideDigits ? 8 : kMaxDigit;
    const int passes = (bits + widest - 1) / widest;
    auto *from = columns, *to = columns_.data();
    auto *from_values = values, *to_values = values_.data();
    for (int pass = 0; pass < passes; ++pass) {
      const int shift = bits * pass / passes;
      const auto mask = (std::uint32_t{1} << (bits * (pass + 1) / passes - shift)) - 1;
      const auto digit = [&](std::size_t k) { return static_cast<std::uint32_t>(from[k]) >> shift & mask; };
      std::array<std::size_t, 1 << kMaxDigit> at;
      std::fill_n(at.begin(), mask + 1, 0);
      for (std::size_t k = 0; k < n; ++k) ++at[digit(k)];
      for (std::size_t sum = 0; auto& e : std::span(at).first(mask + 1)) sum += std::exchange(e, sum);
      for (std::size_t k = 0; k < n; ++k) {
        const auto place = at[digit(k)]++;
        to[place] = from[k];
        if constexpr (!is_pattern<V>) to_values[place] = from_values[k];
      }
      std::swap(from, to), std::swap(from_values, to_values);
    }
    if (from == columns) return;
    std::copy_n(from, n, columns);
    if constexpr (!is_pattern<V>) std::copy_n(from_values, n, values);
  }

  std::vector<std::uint64_t> keys_;
  std::vector<Index> columns_;
  std::vector<V> values_;
};

}  // namespace penstock
