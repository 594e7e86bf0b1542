#pragma once
#include <algorithm>
#include <cstdint>

#include "penstock/core/reserve.hpp"

// What a thread keeps between rows of a product of sparse matrices, and which rows repeat the one above.
namespace penstock {

/// For each row of A and of B: 1 if it is the row above moved by one column. Both are empty if few rows are so.
struct Repeats {
  Array<std::uint8_t> a, b;
};

/// The memory that a thread keeps between rows. Accumulators are left cleared, and grow when a row needs more.
template <class T>
struct RowScratch {
  Array<T> sums, hash_values, expanded;
  Array<std::uint8_t> flags, groups;
  Array<Index> hash_columns;
  Array<std::uint64_t> keys, spare;
  // For each product of a row its place among the entries, for rows that repeat it.
  Array<std::uint16_t> places;
  Array<std::uint32_t> slots;  // for each column: 1 + its place in the mask's row

  template <class U>
  static Array<U> zeroed(std::int64_t size) {
    auto owner = zeroed_bytes(size * static_cast<std::int64_t>(sizeof(U)));
    return {static_cast<U*>(owner.get()), size, {}, owner};
  }
  template <class U>
  static void grow(Array<U>& a, std::int64_t size, U value) {
    if (a.size >= size) return;
    a = {};
    a = allocate<U>(std::max(size, a.size * 3 / 2));
    std::fill_n(a.data, a.size, value);
  }
  template <class U>
  static void grow(Array<U>& a, std::int64_t size) {
    if (a.size < size) a = {}, a = allocate<U>(size + size / 2);
  }
  /// Makes room for a window of `size` columns out of `cols`: flags, and with `numbers` sums. Addresses are reserved for all
  /// columns at once; columns that no window reaches take no memory.
  void grow_window(std::int64_t size, std::int64_t cols, bool numbers, T zero) {
    if (flags.size < size) {
      const auto most = (std::max(size, cols) + 64) / 64 * 64;
      flags = zeroed<std::uint8_t>(most), groups = zeroed<std::uint8_t>(most / 64 + 128);
    }
    if (!numbers || sums.size >= size) return;
    if (zero == T(0)) sums = zeroed<T>(flags.size);
    else grow(sums, size, zero);
  }
};

}  // namespace penstock
